import type { JobDetails, QueueEntry, QueueMonitor, QueueStats } from 'zin/plugins/queue-monitor'

/** From this many failed attempts on, a job that is tried again needs a person. */
const leastAttempts = 5
/** Queues that are looked at, those with the most failed attempts first; jobs of each list, and jobs of a queue that are named. */
const mostQueues = 5
const mostRead = 20
const mostNamed = 3
const lists = ['active', 'waiting', 'delayed'] as const

type Reads = Pick<QueueMonitor, 'jobs' | 'job'>

/** Finds jobs that fail again and again, and are tried again all the same. */
export class RetriedJobs {
  readonly #monitor: () => Reads
  /** A job between two lists is missed by a look: those that were found are asked for by their id. */
  #found: readonly JobDetails[] = []

  constructor(monitor: () => Reads) {
    this.#monitor = monitor
  }

  /** The jobs with the most attempts first. Reads nothing while no attempt fails. */
  async find(stats: QueueStats): Promise<readonly JobDetails[]> {
    const queues = Object.entries(stats.queues)
      .filter(([queue, entry]) => entry.active + entry.size > 0 && (mayFail(entry) || this.#found.some((job) => job.queue === queue)))
      .sort(([, a], [, b]) => failedAttempts(b) - failedAttempts(a))
      .slice(0, mostQueues)
    const found = await Promise.all(queues.map(([queue]) => this.#findIn(queue)))
    this.#found = found.flat().sort((a, b) => b.attempts - a.attempts)
    return this.#found
  }

  async #findIn(queue: string): Promise<readonly JobDetails[]> {
    const monitor = this.#monitor()
    const before = this.#found.filter((job) => job.queue === queue)
    const pages = await Promise.all(lists.map((list) => monitor.jobs(list, { queue, limit: mostRead })))
    const known = await Promise.all(before.map(({ id }) => monitor.job(id, { queue }).catch(unlessGone)))
    const jobs = [...pages.flatMap((page) => page.jobs), ...known.flatMap((job) => job ?? [])]
    return [...new Map(jobs.map((job) => [job.id, job])).values()]
      .filter(isTriedAgain)
      .sort((a, b) => b.attempts - a.attempts)
      .slice(0, mostNamed)
  }
}

/** Of a queue that runs jobs without workers of the app, nobody knows. */
function mayFail({ active, failureRate }: QueueEntry): boolean {
  return failureRate === null ? active > 0 : failureRate > 0
}

/** Of the last hour. */
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
