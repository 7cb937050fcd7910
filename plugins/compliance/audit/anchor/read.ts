import { createReadStream } from 'node:fs'
import { complianceErrors } from '../../errors.js'
import { type Checkpoint, mostText, parseCheckpoint } from '../places/checkpoint.js'
import type { Witness } from '../places/witness.js'

/** The checkpoints of an anchor file. */
export interface AnchorLog extends Witness {
  /** Lines with a checkpoint, and lines without one, such as one that a crash cut off. */
  readonly counts: { readonly lines: number; readonly unreadable: number }
  lines(signal?: AbortSignal): AsyncIterable<readonly Checkpoint[]>
}

/** Maximum number of chains whose newest checkpoint is kept; of more, the last ones of the file. */
const mostChains = 100_000
/** Checkpoints per step. */
const stepLines = 500

/** Opens an anchor file of any length, which is read in bounded memory. Throws AUDIT_ANCHOR_UNREADABLE. */
export async function readAnchor(path: string, signal?: AbortSignal): Promise<AnchorLog> {
  const newest = new Map<number, Checkpoint>()
  let [lines, unreadable, highest] = [0, 0, 0]
  for await (const checkpoint of checkpointsOf(path, signal)) {
    if (checkpoint === undefined) {
      unreadable += 1
      continue
    }
    lines += 1
    highest = Math.max(highest, checkpoint.chain)
    keep(newest, checkpoint)
  }
  // Whoever empties the file must not pass the verification, as with a file that is missing.
  if (lines === 0) throw complianceErrors.AUDIT_ANCHOR_UNREADABLE(path, new Error('it contains no seal'))
  return {
    name: `the anchor file ${path}`,
    counts: { lines, unreadable },
    chains: async () => highest,
    read: async (numbers) => numbers.flatMap((number) => newest.get(number) ?? []),
    async *lines(stop) {
      let step: Checkpoint[] = []
      for await (const checkpoint of checkpointsOf(path, stop)) {
        if (checkpoint === undefined || step.push(checkpoint) < stepLines) continue
        yield step
        step = []
      }
      yield step
    },
  }
}

function keep(newest: Map<number, Checkpoint>, checkpoint: Checkpoint): void {
  const known = newest.get(checkpoint.chain)
  const more = checkpoint.entries - (known?.entries ?? 0) || checkpoint.counter - (known?.counter ?? 0)
  if (known === undefined || more > 0) newest.set(checkpoint.chain, checkpoint)
  if (newest.size > mostChains) newest.delete(newest.keys().next().value as number)
}

/** Yields what the lines contain; undefined for one without a checkpoint. */
async function* checkpointsOf(path: string, signal: AbortSignal | undefined): AsyncGenerator<Checkpoint | undefined> {
  try {
    for await (const line of linesOf(path, signal)) yield parseCheckpoint(line)
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw complianceErrors.AUDIT_ANCHOR_UNREADABLE(path, error as Error)
  }
}

/** Yields the lines that are not empty. Of a line that is too long for a checkpoint, only the start is kept. */
async function* linesOf(path: string, signal: AbortSignal | undefined): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8', ...(signal === undefined ? {} : { signal }) })) {
    const [first = '', ...more] = String(chunk).split('\n')
    rest = `${rest}${first}`.slice(0, mostText + 1)
    for (const line of more) {
      if (rest !== '') yield rest
      rest = line.slice(0, mostText + 1)
    }
  }
  if (rest !== '') yield rest
}
