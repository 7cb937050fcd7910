import type { Job } from 'bullmq'
import { workerErrors } from '../errors.js'
import type { WorkerRecord } from '../record/record.js'
import { cancelReason } from './cancel-reason.js'
import { isFinished, statusOf } from './job-view.js'
import { scheduleIdOf } from './schedule-plan.js'
import type { CancelOutcome } from './types.js'

/** A running job that some process should abort. */
export interface CancelRequest {
  readonly queue: string
  readonly job: string
  readonly reason: string
}

/** A job and BullMQ's name of its state. */
export interface FoundJob {
  readonly job: Job
  readonly state: string
}

export interface CancelParts {
  /** Aborts a job that runs in this process; false when none of that id does. */
  readonly cancelLocal: (queue: string, job: string, reason: string) => boolean
  /** Asks the other processes; true when one runs the job and has aborted it, false when none said so within two seconds or so. */
  readonly cancelElsewhere: (request: CancelRequest) => Promise<boolean>
  /** Throws JOB_NOT_FOUND. */
  readonly find: () => Promise<FoundJob>
  /** False when a job of the tree runs. */
  readonly remove: (job: Job, removeChildren: boolean) => Promise<boolean>
  /** Fails a job that waits, with what that does to its parent. False when it does not wait any more. */
  readonly fail: (job: Job, reason: string) => Promise<boolean>
  /** Notes on a running job that it fails when it is taken up again. False when it has ended. */
  readonly failNext: (job: Job, reason: string) => Promise<boolean>
}

/** A job may begin or end while it is looked at; more often than this it does not. */
const maxLooks = 5

/**
 * Removes a job that waits, or aborts one that runs, wherever it does. One that a parent waits for fails: without it the parent would
 * run as though it had succeeded.
 */
export async function cancelJob(record: WorkerRecord, id: string, reason: string, parts: CancelParts): Promise<CancelOutcome> {
  const { cancelLocal, cancelElsewhere, fail, failNext, find, remove } = parts
  const request: CancelRequest = { queue: record.queueName, job: id, reason: cancelReason(reason) }
  let asked = false
  for (let look = 1; look <= maxLooks; look++) {
    const { job, state } = await find()
    const status = statusOf(state)
    if (status !== undefined && isFinished(status)) throw workerErrors.JOB_FINISHED(record.name, status)
    if (status === 'active') {
      // Also when its process is gone, or goes before the attempt ends: nobody runs it again.
      if (!asked && !(await failNext(job, request.reason))) continue
      if (cancelLocal(request.queue, id, request.reason)) return 'cancelled'
      // It was asked for already, and still runs where nobody answers.
      if (asked) return 'orphaned'
      if (await cancelElsewhere(request)) return 'cancelled'
      asked = true
      continue
    }
    // Stores differ in which of these they would remove.
    const scheduler = job.repeatJobKey
    if (scheduler !== undefined) throw workerErrors.JOB_SCHEDULED(record.name, scheduleIdOf(record.name, scheduler) ?? scheduler)
    if (job.parentKey !== undefined) {
      if (await fail(job, request.reason)) return 'failed'
      continue
    }
    if (await remove(job, true)) return 'removed'
    // One of the jobs that it waits for runs: that one ends for nobody, and those that wait with it run on.
    if (state === 'waiting-children' && (await remove(job, false))) return 'removed'
  }
  return 'orphaned'
}
