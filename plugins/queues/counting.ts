import type { Queue } from 'bullmq'
import type { QueueBackend } from './backend.js'
import type { QueueCounts, QueueSample, Queues } from './contract.js'
import { readySince } from './ready.js'

export interface CountingParts {
  readonly store: () => QueueBackend
  readonly queue: (name: string) => Queue
  /** Throws for an invalid queue name. */
  readonly checkName: (name: string) => void
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
}

/** Maximum number of priorities that are read to find the oldest waiting job. */
const maxLevels = 50
/** Queues counted in one round trip. */
const countedAtOnce = 1_000

/** Counts and samples queues at a cost that does not depend on the number of jobs. */
export function createCounting(parts: CountingParts): Pick<Queues, 'counts' | 'countsOf' | 'sample' | 'oldestWaiting' | 'runningSince'> {
  const { ask, checkName, queue, store } = parts

  /** Reads many queues, a bounded number per round trip. */
  const ofMany = async <T>(
    names: readonly string[],
    read: (names: readonly string[]) => Promise<readonly T[]>,
  ): Promise<ReadonlyMap<string, T>> => {
    const found = new Map<string, T>()
    for (let from = 0; from < names.length; from += countedAtOnce) {
      const some = names.slice(from, from + countedAtOnce)
      some.forEach(checkName)
      // Read by name, because a producer for each queue would stay in memory.
      const values = await ask(() => read(some))
      for (const [i, name] of some.entries()) found.set(name, values[i] as T)
    }
    return found
  }
  const counts = (names: readonly string[]) => ofMany<QueueCounts>(names, (some) => store().counts(some))

  return {
    counts: async (name) => (await counts([name])).get(name) as QueueCounts,
    countsOf: (names) => counts([...new Set(names)]),
    sample: (names) => ofMany<QueueSample>([...new Set(names)], (some) => store().samples(some)),
    runningSince: (names) => ofMany<readonly number[]>([...new Set(names)], (some) => store().running(some)),
    oldestWaiting: (name) =>
      ask(async () => {
        let oldest: number | undefined
        let priority = -1
        for (let level = 0; level < maxLevels; level++) {
          const first = await store().firstAbove(queue(name), priority)
          if (first === undefined) break
          oldest = Math.min(oldest ?? Number.POSITIVE_INFINITY, readySince(first))
          priority = first.priority
        }
        return oldest
      }),
  }
}
