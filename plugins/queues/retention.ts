import type { JobsOptions, KeepJobs, Worker } from 'bullmq'
import type { QueueBackend } from './backend.js'

const day = 24 * 3600
/** Default retention of finished jobs. */
export const keepCompleted: KeepJobs = { age: day, count: 1000 }
export const keepFailed: KeepJobs = { age: 7 * day }

/** How many jobs a worker completes between two removals of jobs beyond the default retention. */
const completionsPerRemoval = 20

type Keep = QueueBackend['keep']
type Wanted = JobsOptions['removeOnComplete']

/** The default retention in the form of the store. */
export function defaultRetention(keep: Keep): Required<Pick<JobsOptions, 'removeOnComplete' | 'removeOnFail'>> {
  return { removeOnComplete: keep(keepCompleted), removeOnFail: keep(keepFailed) }
}

/** Converts the retention in job options to the form of the store. */
export function withRetention({ removeOnComplete, removeOnFail, ...others }: JobsOptions, keep: Keep): JobsOptions {
  const kept = (wanted: Exclude<Wanted, undefined>): boolean | KeepJobs => {
    if (typeof wanted === 'boolean') return wanted
    const limits = typeof wanted === 'number' ? { count: wanted } : wanted
    // None is kept, which is not a count that a store may replace by an age.
    return limits.count === 0 ? true : keep(limits)
  }
  return {
    ...others,
    ...(removeOnComplete !== undefined && { removeOnComplete: kept(removeOnComplete) }),
    ...(removeOnFail !== undefined && { removeOnFail: kept(removeOnFail) }),
  }
}

/**
 * Makes a worker remove completed jobs beyond the default retention only with the first job that it completes and with every twentieth after
 * that: with every job, it would be a tenth of what a job costs Redis. A job's own retention is applied whenever such a job completes.
 */
export function removeInTurns(worker: Worker, keep: Keep): void {
  const { age, count } = keep(keepCompleted) as { readonly age?: number; readonly count?: number }
  const isDefault = (wanted: Wanted): boolean =>
    typeof wanted === 'object' && 'age' in wanted && wanted.age === age && wanted.count === count && wanted.limit === undefined
  const backend = worker.getBackend()
  const moveToCompleted = backend.moveToCompleted.bind(backend)
  let completions = 0
  backend.moveToCompleted = (job, result, wanted, token, fetchNext) => {
    const isLeftOut = isDefault(wanted ?? worker.opts.removeOnComplete) && completions++ % completionsPerRemoval !== 0
    return moveToCompleted(job, result, isLeftOut ? false : wanted, token, fetchNext)
  }
}
