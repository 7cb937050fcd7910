import type { Job, Processor } from 'bullmq'
import { type Clock, messageOf } from 'zin'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { isCancelReason, stopReason } from '../jobs/cancel-reason.js'
import { timeoutOf } from '../jobs/job-plan.js'
import { jobView } from '../jobs/job-view.js'
import { openJob, type PayloadSlots, storedResult, unrecoverable } from '../jobs/payload.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { WorkerJobOptions } from '../record/record.js'
import type { Counters } from './counters.js'
import { runInTime } from './time-limit.js'

export interface RunnerParts {
  readonly workerName: string
  /** The version that does this job; asked once for each attempt. */
  readonly select: (job: Job) => { readonly version: string; readonly run: WorkerProcessor }
  readonly counters: Counters
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
 * Wraps every attempt of a worker: counts it by version, limits its time, passes payloads through the hooks and fires `onJobStart`.
 * It takes exactly three arguments whatever the processor takes: BullMQ can cancel a job only then. What nobody asked for costs nothing.
 */
export function jobRunner({ workerName, select, counters, clock, hooks, defaults }: RunnerParts): Processor {
  const { onJobStart, restoreJobData, restoreJobResult, transformJobData, transformJobResult } = hooks
  return async (job: Job, token?: string, signal?: AbortSignal) => {
    const { version, run } = select(job)
    const begun = clock.monotonic()
    counters.begin(version)
    try {
      if (restoreJobData.active || restoreJobResult.active || transformJobData.active) await openJob(job, workerName, hooks)
      if (onJobStart.active) onJobStart.call(workerName, jobView(job, job.attemptsMade + 1))
      const ms = timeoutOf(job.opts) ?? defaults().timeout
      const given = await (ms === undefined
        ? run(job, token, signal)
        : runInTime(() => run(job, token, signal), { ms, late: () => timeOut(workerName, job, ms), stands: isPutOff }))
      const result = transformJobResult.active ? await storedResult(job, given, workerName, hooks) : given
      counters.completed(version, clock.monotonic() - begun)
      return result
    } catch (thrown) {
      const error = storable(thrown)
      if (isPutOff(error)) counters.uncounted(version)
      else if (isCancelReason(signal?.reason)) {
        counters.uncounted(version)
        throw unrecoverable(error, signal.reason)
      } else if (signal?.reason === stopReason && error.name !== 'UnrecoverableError') {
        counters.uncounted(version)
        throw await putBack(job, token, error)
      } else if (isLost(error)) counters.lost(version, clock.monotonic() - begun)
      else counters.failed(version, clock.monotonic() - begun)
      throw error
    }
  }
}

/** An attempt that its worker's stop cut short does not use up one of the job's. It resolves to what the attempt must end with. */
async function putBack(job: Job, token: string | undefined, error: Error): Promise<Error> {
  try {
    await job.moveToWait(token)
  } catch {
    return error
  }
  const waiting = new Error('put back by the stop of its worker', { cause: error })
  waiting.name = 'WaitingError'
  return waiting
}

/**
 * Aborts the signal that BullMQ gave the job, with what the attempt fails with. Its worker does that, which the job knows as its
 * queue: a second signal for each attempt would cost more than all the rest here together.
 */
function timeOut(worker: string, job: Job, ms: number): Error {
  // Named as the platform names it.
  const error = Object.defineProperty(workerErrors.JOB_TIMEOUT(worker, job.id ?? '', ms), 'name', { value: 'TimeoutError' })
  const { queue } = job as unknown as { readonly queue: { cancelJob(id: string, reason: unknown): boolean } }
  queue.cancelJob(job.id ?? '', error)
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
  const error = isErrorLike(thrown) ? thrown : new Error(messageOf(thrown))
  const clean = (text: string): string => text.replaceAll('\0', '\uFFFD')
  if (error.message.includes('\0')) error.message = clean(error.message)
  if (error.stack?.includes('\0')) error.stack = clean(error.stack)
  return error
}

/** Errors of another thread or realm are errors as well. */
function isErrorLike(thrown: unknown): thrown is Error {
  return (
    thrown instanceof Error || (typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string')
  )
}
