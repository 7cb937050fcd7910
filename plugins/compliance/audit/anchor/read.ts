import { createReadStream } from 'node:fs'
import { complianceErrors } from '../../errors.js'
import { type Checkpoint, mostText, parseCheckpoint } from '../places/checkpoint.js'
import type { Witness } from '../places/witness.js'

/** The checkpoints of an anchor file. */
export interface AnchorLog extends Witness {
  /** Lines with a checkpoint. */
  readonly lines: number
  /** Lines without one, such as one that a crash cut off. */
  readonly unreadable: number
}

/** Maximum number of checkpoints kept per chain, evenly thinned, with the newest always among them; and chains, of which the newest are kept. */
const perChain = 16
const mostChains = 100_000

/** Reads an anchor file of any length in bounded memory. Throws AUDIT_ANCHOR_UNREADABLE. */
export async function readAnchor(path: string, signal?: AbortSignal): Promise<AnchorLog> {
  const kept = new Map<number, Kept>()
  let [lines, unreadable, highest] = [0, 0, 0]
  try {
    for await (const line of linesOf(path, signal)) {
      const checkpoint = parseCheckpoint(line)
      if (checkpoint === undefined) {
        unreadable += 1
        continue
      }
      lines += 1
      highest = Math.max(highest, checkpoint.chain)
      keep(kept, checkpoint)
    }
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw complianceErrors.AUDIT_ANCHOR_UNREADABLE(path, error as Error)
  }
  return {
    name: `the anchor file ${path}`,
    lines,
    unreadable,
    chains: async () => highest,
    read: async (numbers) =>
      numbers.flatMap((number) => {
        const chain = kept.get(number)
        return chain === undefined ? [] : allOf(chain)
      }),
  }
}

/** The checkpoints of one chain: each `stride`-th one, and the newest. */
interface Kept {
  readonly some: Checkpoint[]
  readonly stride: number
  readonly seen: number
  readonly newest: Checkpoint
}

function keep(chains: Map<number, Kept>, newest: Checkpoint): void {
  const { some, stride, seen } = chains.get(newest.chain) ?? { some: [] as Checkpoint[], stride: 1, seen: 0 }
  if (seen % stride === 0) some.push(newest)
  const isFull = some.length === perChain
  chains.set(newest.chain, {
    some: isFull ? some.filter((_, index) => index % 2 === 0) : some,
    stride: isFull ? stride * 2 : stride,
    seen: seen + 1,
    newest,
  })
  if (chains.size > mostChains) chains.delete(chains.keys().next().value as number)
}

function allOf({ newest, some }: Kept): readonly Checkpoint[] {
  return some.at(-1) === newest ? some : [...some, newest]
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
