import type { Job, Processor } from 'bullmq'
import { type Clock, messageOf } from 'zin'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { isCancelReason, stopReason } from '../jobs/cancel-reason.js'
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
    const attempt = running.begin(job.id ?? '')
    const begun = clock.monotonic()
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
      counters.completed(version, clock.monotonic() - begun)
      return result
    } catch (thrown) {
      const error = storable(thrown)
      if (isPutOff(error)) counters.uncounted(version)
      else if (isCancelReason(attempt.reason)) {
        counters.uncounted(version)
        throw unrecoverable(error, attempt.reason)
      } else if (attempt.reason === stopReason && error.name !== 'UnrecoverableError') {
        counters.uncounted(version)
        throw await putBack(job, token, error)
      } else if (isLost(error)) counters.lost(version, clock.monotonic() - begun)
      else counters.failed(version, clock.monotonic() - begun)
      throw error
    } finally {
      running.end(attempt)
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
  const error = Object.defineProperty(workerErrors.JOB_TIMEOUT(worker, attempt.job, ms), 'name', { value: 'TimeoutError' })
  attempt.abort(error)
  return error
}

function isLost(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && lostCodes.has(error.code)
}

function isPutOff(error: unknown): boolean {
  return isErrorLike(error) && (putOff.has(error.name) || error.message === rateLimited)
}

/** BullMQ leaves a job that failed with something else than an error, or with a text that the store refuses, to stall. */
function storable(thrown: unknown): Error {
  try {
    const error = isErrorLike(thrown) && typeof thrown.message === 'string' ? thrown : new Error(String(messageOf(thrown)))
    if (unstorable.test(error.message)) error.message = clean(error.message)
    if (error.stack !== undefined && unstorable.test(error.stack)) error.stack = clean(error.stack)
    return error
  } catch (error) {
    return new Error('the processor threw something that cannot be read or changed', { cause: error })
  }
}

/** The character NUL, and halves of characters beyond the first 65,536. */
const unstorable = /\0|\p{Surrogate}/u

function clean(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\uFFFD')
}

/** Errors of another thread or realm are errors as well. */
function isErrorLike(thrown: unknown): thrown is Error {
  return (
    thrown instanceof Error || (typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string')
  )
}
