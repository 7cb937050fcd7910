import type { JobsOptions, KeepJobs } from 'bullmq'
import type { QueueBackend } from './backend.js'

const day = 24 * 3600
/** How long finished jobs are kept that do not say so themselves. */
export const keepCompleted: KeepJobs = { age: day, count: 1000 }
export const keepFailed: KeepJobs = { age: 7 * day }

type Keep = QueueBackend['keep']
type Wanted = JobsOptions['removeOnComplete']

/** The default retention in the form of the store. */
export function defaultRetention(keep: Keep): Required<Pick<JobsOptions, 'removeOnComplete' | 'removeOnFail'>> {
  return { removeOnComplete: keep(keepCompleted), removeOnFail: keep(keepFailed) }
}

/** The options with the retention that they ask for in the form of the store. */
export function withRetention({ removeOnComplete, removeOnFail, ...others }: JobsOptions, keep: Keep): JobsOptions {
  const kept = (wanted: Exclude<Wanted, undefined>): boolean | KeepJobs =>
    typeof wanted === 'boolean' ? wanted : keep(typeof wanted === 'number' ? { count: wanted } : wanted)
  return {
    ...others,
    ...(removeOnComplete !== undefined && { removeOnComplete: kept(removeOnComplete) }),
    ...(removeOnFail !== undefined && { removeOnFail: kept(removeOnFail) }),
  }
}
