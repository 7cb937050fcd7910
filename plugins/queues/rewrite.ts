import type { Queue } from 'bullmq'
import type { QueueBackend, StoredParts } from './backend.js'
import type { RewriteOptions, RewriteOutcome } from './contract.js'
import type { Payloads } from './payloads.js'

export interface RewriteParts {
  readonly backend: QueueBackend
  readonly payloads: Payloads
  readonly queue: Queue
}

/** Restores the stored parts of a job through the hooks and stores them again. */
export async function rewriteParts(
  { backend, payloads, queue }: RewriteParts,
  id: string,
  { kind = 'job', only = () => true }: RewriteOptions = {},
): Promise<RewriteOutcome> {
  const of = { queue, id, kind } as const
  const before = await backend.readParts(of)
  if (before === undefined) return 'unknown'
  const { name } = queue
  const value = async (json: string | undefined, again: (stored: unknown) => Promise<unknown>): Promise<string | undefined> => {
    if (json === undefined) return undefined
    const stored = JSON.parse(json) as unknown
    return only(stored) ? JSON.stringify(await again(stored)) : json
  }
  const text = async (stored: string, part: 'error' | 'stack' | 'log'): Promise<string> =>
    only(stored) ? payloads.transformText(name, await payloads.restoreText(name, stored, part), part) : stored
  const data = async (stored: unknown) => payloads.transformData(name, await payloads.restoreData(name, stored))
  const after = withoutAbsent({
    data: await value(before.data, data),
    result: await value(before.result, async (stored) => payloads.transformResult(name, await payloads.restoreResult(name, stored))),
    progress: await value(before.progress, async (stored) => (typeof stored === 'object' ? data(stored) : stored)),
    error: before.error === undefined ? undefined : await text(before.error, 'error'),
    stacks: await stacksOf(before.stacks, (stack) => text(stack, 'stack')),
    logs: await Promise.all(before.logs.map((line) => text(line, 'log'))),
  })
  if (JSON.stringify(after) === JSON.stringify(withoutAbsent(before))) return 'unchanged'
  return (await backend.writeParts(of, before, after)) ? 'rewritten' : 'busy'
}

async function stacksOf(json: string | undefined, again: (stack: string) => Promise<string>): Promise<string | undefined> {
  const stacks = json === undefined ? undefined : (JSON.parse(json) as unknown)
  if (!Array.isArray(stacks) || stacks.length === 0) return json
  return JSON.stringify(await Promise.all(stacks.map((stack) => again(String(stack)))))
}

/** The parts in a fixed order, without those that are absent. */
function withoutAbsent({
  data,
  error,
  logs,
  progress,
  result,
  stacks,
}: { [K in keyof StoredParts]: StoredParts[K] | undefined }): StoredParts {
  return JSON.parse(JSON.stringify({ data, result, progress, error, stacks, logs: logs ?? [] })) as StoredParts
}
