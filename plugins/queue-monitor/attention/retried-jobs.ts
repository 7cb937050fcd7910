import type { JobDetails, QueueEntry, QueueMonitor, QueueStats } from '../contract.js'

/** A retried job with at least this many failed attempts needs attention. */
const leastAttempts = 5
/**
 * Failing queues checked by every scan (those with the most failed attempts), and how many of the others are checked per scan, in rotation.
 */
const mostFailing = 10
const inRotation = 10
/** Queues read concurrently, jobs read per list, and jobs reported per queue. */
const atOnce = 5
const mostRead = 20
const mostNamed = 3
/** Jobs reported over all queues. */
const mostJobs = 50
/** In the order in which a job moves, so that none is missed because it moves meanwhile. */
const lists = ['delayed', 'waiting', 'active', 'delayed'] as const

type Reads = Pick<QueueMonitor, 'jobs' | 'job'>

export interface Retried {
  /** Most attempts first. */
  readonly jobs: readonly JobDetails[]
  /** Failing queues checked so far, out of `of`. */
  readonly queues: number
  readonly of: number
}

/** Finds jobs that fail repeatedly and are still being retried. */
export class RetriedJobs {
  readonly #monitor: () => Reads
  /** Last scan and its findings, by failing queue. A scan misses a job that moves between lists, so known jobs are also read by id. */
  readonly #looked = new Map<string, { readonly look: number; readonly jobs: readonly JobDetails[] }>()
  #look = 0

  constructor(monitor: () => Reads) {
    this.#monitor = monitor
  }

  /** Reads no jobs while no attempt fails. */
  async find(stats: QueueStats): Promise<Retried> {
    const failing = Object.entries(stats.queues)
      .filter(([queue, entry]) => entry.active + entry.size > 0 && (mayFail(entry) || this.#jobsOf(queue).length > 0))
      .sort(([, a], [, b]) => failedAttempts(b) - failedAttempts(a))
      .map(([queue]) => queue)
    for (const queue of this.#looked.keys()) if (!failing.includes(queue)) this.#looked.delete(queue)
    const lastLook = (queue: string): number => this.#looked.get(queue)?.look ?? 0
    const others = failing.slice(mostFailing).sort((a, b) => lastLook(a) - lastLook(b))
    const chosen = [...failing.slice(0, mostFailing), ...others.slice(0, inRotation)]
    const look = ++this.#look
    for (let from = 0; from < chosen.length; from += atOnce) {
      const some = chosen.slice(from, from + atOnce)
      const found = await Promise.all(some.map((queue) => this.#findIn(queue)))
      for (const [i, queue] of some.entries()) this.#looked.set(queue, { look, jobs: found[i] ?? [] })
    }
    const jobs = failing.flatMap((queue) => this.#jobsOf(queue)).sort((a, b) => b.attempts - a.attempts)
    return { jobs: jobs.slice(0, mostJobs), queues: this.#looked.size, of: failing.length }
  }

  #jobsOf(queue: string): readonly JobDetails[] {
    return this.#looked.get(queue)?.jobs ?? []
  }

  async #findIn(queue: string): Promise<readonly JobDetails[]> {
    const monitor = this.#monitor()
    const before = this.#jobsOf(queue)
    const found: JobDetails[] = []
    for (const list of lists) found.push(...(await monitor.jobs(list, { queue, limit: mostRead })).jobs)
    const known = await Promise.all(before.map(({ id }) => monitor.job(id, { queue }).catch(unlessGone)))
    const jobs = [...found, ...known.flatMap((job) => job ?? [])]
    return [...new Map(jobs.map((job) => [job.id, job])).values()]
      .filter(isTriedAgain)
      .sort((a, b) => b.attempts - a.attempts)
      .slice(0, mostNamed)
  }
}

/** A queue consumed by something other than this app's workers has no failure rate; it may fail whenever it has active jobs. */
function mayFail({ active, failureRate }: QueueEntry): boolean {
  return failureRate === null ? active > 0 : failureRate > 0
}

/** Failed attempts of the last hour. */
export function failedAttempts({ attempts, failureRate }: QueueEntry): number {
  return Math.round(attempts * (failureRate ?? 0))
}

function isTriedAgain({ attempts, status }: JobDetails): boolean {
  return attempts >= leastAttempts && (status === 'waiting' || status === 'processing')
}

function unlessGone(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code !== 'JOB_NOT_FOUND') throw error
  return undefined
}
