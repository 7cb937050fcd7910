import type { Job, Worker } from 'bullmq'

/** The parts of BullMQ's worker through which each job passes between its fetch and its start. */
export interface Fetching {
  nextJobFromJobData(data: unknown, id: string | undefined, token: string): Promise<Job | undefined>
  processJob(job: Job, token: string, fetchNext?: () => boolean): Promise<Job | undefined>
}

/** The used part of a job as BullMQ reads it from its store. */
interface FetchedData {
  readonly processedOn?: number
  readonly repeatJobKey?: string
}

const fetched = Symbol('zin.fetchedJobs')

/**
 * The jobs that a worker has fetched and not begun, and when it asked for them, in ms since 1970: their locks were set no earlier, and the
 * reply may have come late. BullMQ holds a job back while it fetches the next one, which takes as long as the store does not answer: it is
 * known to the worker, although its lock is not renewed yet.
 */
export function fetchedJobs(worker: Worker): Map<string, number> {
  const own = worker as unknown as Fetching & { [fetched]?: Map<string, number> }
  if (own[fetched] !== undefined) return own[fetched]
  const jobs = new Map<string, number>()
  own[fetched] = jobs
  const { nextJobFromJobData, processJob } = own
  // Without a promise of its own: this runs for each job.
  own.nextJobFromJobData = (data, id, token) => {
    if (!data || id === undefined) return nextJobFromJobData.call(worker, data, id, token)
    const { processedOn, repeatJobKey } = data as FetchedData
    const now = Date.now()
    // BullMQ stores when it sent the command that fetched the job.
    jobs.set(id, Math.min(now, processedOn ?? now))
    const taken = nextJobFromJobData.call(worker, data, id, token)
    if (repeatJobKey === undefined) return taken
    return taken.then((job) => {
      // It could not plan the next run of a schedule, and runs nothing.
      if (job === undefined) jobs.delete(id)
      return job
    })
  }
  own.processJob = (job, token, fetchNext) => {
    const started = processJob.call(worker, job, token, fetchNext)
    if (job.id !== undefined) jobs.delete(job.id)
    return started
  }
  return jobs
}
