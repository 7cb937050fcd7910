import type { Job, Processor } from 'bullmq'
import type { Clock } from 'zin'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { isCancelReason, stopReason } from '../jobs/cancel-reason.js'
import { isErrorLike, storable } from '../jobs/error-text.js'
import { timeoutOf } from '../jobs/job-plan.js'
import { jobView } from '../jobs/job-view.js'
import { checkedResult, openJob, type PayloadSlots, storedResult, unrecoverable } from '../jobs/payload.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { WorkerJobOptions } from '../record/record.js'
import type { Counters } from './counters.js'
import { putBack } from './put-back.js'
import type { Attempt, RunningJobs } from './running-jobs.js'
import { runInTime } from './time-limit.js'

export interface RunnerParts {
  readonly workerName: string
  /** The version that does this job; asked once for each attempt. */
  readonly select: (job: Job) => { readonly version: string; readonly run: WorkerProcessor }
  readonly counters: Counters
  readonly running: RunningJobs
  readonly clock: Clock
  readonly hooks: PayloadSlots & Pick<HookSlots, 'onJobStart'>
  /** The worker's defaults of now, for jobs that were added without them. */
  readonly defaults: () => WorkerJobOptions
}

/** Thrown by a processor to put its job off; an attempt that ends so is neither completed nor failed. */
const putOff = new Set(['DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'])
const rateLimited = 'bullmq:rateLimitExceeded'
const lostCodes = new Set(['JOB_TIMEOUT', 'PROCESSOR_DIED'])

/**
 * Wraps every attempt of a worker: counts it by version, limits its time, lets it be cancelled, passes payloads through the hooks and
 * fires `onJobStart`. What nobody asked for costs nothing.
 */
export function jobRunner({ workerName, select, counters, running, clock, hooks, defaults }: RunnerParts): Processor {
  const { onJobStart, restoreJobData, restoreJobResult, transformJobData, transformJobResult } = hooks
  return async (job: Job, token?: string) => {
    const { version, run } = select(job)
    const attempt = running.begin(job, version)
    const begun = clock.monotonic()
    const counted = (outcome: 'completed' | 'failed' | 'lost') => {
      const ms = clock.monotonic() - begun
      return () => counters[outcome](version, ms)
    }
    let count: (() => void) | undefined
    counters.begin(version)
    try {
      if (restoreJobData.active || restoreJobResult.active || transformJobData.active) await openJob(job, workerName, hooks)
      if (onJobStart.active) onJobStart.call(workerName, jobView(job, job.attemptsMade + 1))
      const ms = timeoutOf(job.opts) ?? defaults().timeout
      const work = (): unknown => (takesSignal(run) ? run(job, token, attempt.signal) : run(job, token))
      const given = await (ms === undefined
        ? work()
        : runInTime(work, { ms, late: () => timeOut(attempt, workerName, ms), stands: isPutOff }))
      const result = transformJobResult.active ? await storedResult(job, given, workerName, hooks) : checkedResult(given, workerName)
      if (attempt.lost !== undefined) throw attempt.lost
      count = counted('completed')
      return result
    } catch (thrown) {
      const error = storable(thrown)
      if (isPutOff(error)) throw error
      // Whoever notices that the job lost its process counts that. The store refuses this outcome.
      if (attempt.lost !== undefined) throw unrecoverable(attempt.lost)
      if (isCancelReason(attempt.reason)) throw unrecoverable(error, attempt.reason)
      if (attempt.reason === stopReason && error.name !== 'UnrecoverableError') throw await putBack(job, token, error)
      count = counted(isLost(error) ? 'lost' : 'failed')
      throw error
    } finally {
      counters.end(version)
      running.end(attempt, count)
    }
  }
}

/** As BullMQ has it: whoever names a third parameter wants it. One that names none may take all there are. */
function takesSignal(run: WorkerProcessor): boolean {
  return run.length >= 3 || run.length === 0
}

/** Aborts the attempt with what it fails with. */
function timeOut(attempt: Attempt, worker: string, ms: number): Error {
  // Named as the platform names it.
  const error = Object.defineProperty(workerErrors.JOB_TIMEOUT(worker, attempt.id, ms), 'name', { value: 'TimeoutError' })
  attempt.abort(error)
  return error
}

function isLost(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && lostCodes.has(error.code)
}

function isPutOff(error: unknown): boolean {
  return isErrorLike(error) && (putOff.has(error.name) || error.message === rateLimited)
}
