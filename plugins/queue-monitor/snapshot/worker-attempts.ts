import type { WorkerCounts, Workers } from 'zin/plugins/workers'
import { type Attempts, sumAttempts } from './snapshot.js'

const minuteMs = 60_000
const hourMs = 3_600_000
/** Workers per query of counts. */
const namesAtOnce = 1_000
const mostPages = 100
/** How long the assignment of workers to queues is cached without a change event, in ms. */
const assignedMs = 60_000

/** Attempts of the workers of a queue. */
export interface QueueAttempts {
  readonly hour: Attempts
  /** The last full minute and the current one, by start time. */
  readonly minutes: ReadonlyMap<number, Attempts>
}

/** Reads the attempts of each queue from the counts of the plugin `workers`. */
export class WorkerAttempts {
  readonly #workers: () => Workers | undefined
  #queues: { readonly at: number; readonly byWorker: ReadonlyMap<string, string> } | undefined

  constructor(workers: () => Workers | undefined) {
    this.#workers = workers
  }

  /** Clears the cached assignment of workers to queues. */
  forget(): void {
    this.#queues = undefined
  }

  /** Returns the attempts by queue. Two queries per 1000 workers. */
  async read(now: number): Promise<ReadonlyMap<string, QueueAttempts>> {
    const workers = this.#workers()
    if (workers === undefined) return new Map()
    const byWorker = await this.#assignment(workers, now)
    const names = [...byWorker.keys()]
    const hour: WorkerCounts[] = []
    const minutes: WorkerCounts[] = []
    for (let from = 0; from < names.length; from += namesAtOnce) {
      const some = names.slice(from, from + namesAtOnce)
      const [all, recent] = await Promise.all([
        workers.counts(some, { since: now - hourMs }),
        workers.counts(some, { since: now - minuteMs, byMinute: true }),
      ])
      hour.push(...all)
      minutes.push(...recent)
    }
    return attemptsByQueue(byWorker, hour, minutes)
  }

  async #assignment(workers: Workers, now: number): Promise<ReadonlyMap<string, string>> {
    const known = this.#queues
    if (known !== undefined && now - known.at < assignedMs && now >= known.at) return known.byWorker
    const byWorker = new Map<string, string>()
    for (let page = 1; page <= mostPages; page++) {
      const found = await workers.list({ page, limit: 100, includeInactive: true })
      for (const { name, queueName } of found.workers) byWorker.set(name, queueName)
      if (page >= found.pagination.totalPages) break
    }
    this.#queues = { at: now, byWorker }
    return byWorker
  }
}

/** Groups the counts of workers by queue. Pure. */
export function attemptsByQueue(
  byWorker: ReadonlyMap<string, string>,
  hour: readonly WorkerCounts[],
  minutes: readonly WorkerCounts[],
): ReadonlyMap<string, QueueAttempts> {
  const byQueue = new Map<string, { readonly hour: Attempts[]; readonly minutes: Map<number, Attempts[]> }>()
  const of = (worker: string) => {
    const queue = byWorker.get(worker) ?? ''
    const found = byQueue.get(queue) ?? { hour: [], minutes: new Map<number, Attempts[]>() }
    byQueue.set(queue, found)
    return found
  }
  for (const counts of hour) of(counts.worker).hour.push(counts)
  for (const counts of minutes) {
    const found = of(counts.worker).minutes
    const minute = counts.minute ?? 0
    found.set(minute, [...(found.get(minute) ?? []), counts])
  }
  return new Map(
    [...byQueue].map(([queue, parts]) => [
      queue,
      { hour: sumAttempts(parts.hour), minutes: new Map([...parts.minutes].map(([minute, all]) => [minute, sumAttempts(all)])) },
    ]),
  )
}
