import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Job, Processor } from 'bullmq'
import type { Clock } from 'zin'
import { isCancelReason } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { DelayRequest, isDeferral } from '../jobs/deferral.js'
import { storable } from '../jobs/error-text.js'
import { timeoutOf } from '../jobs/job-plan.js'
import { jobView } from '../jobs/job-view.js'
import { stopReason } from '../jobs/stop-reason.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { WorkerJobOptions } from '../record/record.js'
import type { Attempt, AttemptResult } from './attempt.js'
import type { AttemptRecords } from './attempt-records.js'
import type { Counters } from './counters.js'
import { type AttemptPlace, type JobMiddleware, runInside } from './job-middleware.js'
import { promiseOf } from './promise-of.js'
import { PutBack, putBack, putOff } from './put-back.js'
import type { RunningJobs } from './running-jobs.js'
import type { TimeLimits } from './time-limit.js'

export interface RunnerParts extends AttemptPlace {
  /** Returns the version that runs this job; called once per attempt. */
  readonly select: (job: Job) => { readonly version: string; readonly run: WorkerProcessor }
  /** Returns the job middlewares that currently wrap the attempts of this worker. */
  readonly middlewares: () => readonly JobMiddleware[]
  readonly counters: Counters
  readonly running: RunningJobs
  readonly records: AttemptRecords
  readonly timeLimits: TimeLimits
  readonly clock: Clock
  /** The attempt that code belongs to, for errors that nothing catches; undefined if that need not be known. */
  readonly context: AsyncLocalStorage<Attempt> | undefined
  readonly hooks: Pick<HookSlots, 'onJobStart'>
  /** Returns the worker's current defaults, for jobs that were added without those options. */
  readonly defaults: () => WorkerJobOptions
}

const lostCodes = new Set(['PROCESSOR_DIED'])

/**
 * Returns the function that runs every attempt of a worker: inside the job middlewares, within its timeout, and cancellable. Calls
 * `onJobStart`. Unused features cost nothing: there is one promise beyond those of the processor. The outcome of an attempt is recorded
 * once the store has accepted it.
 */
export function jobRunner(parts: RunnerParts): Processor {
  const { clock, context, counters, defaults, hooks, middlewares, records, running, select, timeLimits, worker } = parts
  const { onJobStart } = hooks

  const begin = (job: Job, token: string | undefined): Promise<unknown> => {
    const { version, run } = select(job)
    const chain = middlewares()
    const ms = timeoutOf(job.opts) ?? defaults().timeout
    const attempt = running.begin(job, token, version)
    counters.begin(version)
    const process = (): unknown => {
      if (onJobStart.active) onJobStart.call(worker, jobView(job, attempt.number))
      return takesSignal(run) ? run(job, token, attempt.signal) : run(job, token)
    }
    const work = chain.length === 0 ? process : () => runInside(chain, attempt, parts, process)
    const inContext = context === undefined ? work : (): unknown => context.run(attempt, work)
    const outcome =
      ms === undefined
        ? promiseOf(inContext)
        : timeLimits.run(inContext, { ms, late: () => timeOut(attempt, worker, ms), stands: isDeferral })
    return outcome.then(
      (result) => complete(attempt, result),
      (thrown: unknown) => fail(attempt, thrown),
    )
  }

  const complete = (attempt: Attempt, result: unknown): unknown => {
    if (attempt.lost === undefined) attempt.end({ outcome: 'completed', result }, clock.monotonic())
    leave(attempt)
    // The loss is recorded where it was noticed. The store refuses this outcome.
    if (attempt.lost !== undefined) throw unrecoverable(attempt.lost)
    return result
  }

  const fail = async (attempt: Attempt, thrown: unknown): Promise<never> => {
    try {
      // As above.
      if (attempt.lost !== undefined) throw isDeferral(thrown) ? thrown : unrecoverable(attempt.lost)
      const failure = await failureOf(attempt, storable(thrown))
      attempt.end(failure, clock.monotonic())
      throw failure.error
    } finally {
      leave(attempt)
      // The job was moved already, and BullMQ emits no event for that.
      if (attempt.ended?.outcome === 'deferred') records.deferred(attempt)
    }
  }

  const leave = (attempt: Attempt): void => {
    counters.end(attempt.version)
    running.end(attempt)
  }

  return (job: Job, token?: string) => (records.full ? records.room().then(() => begin(job, token)) : begin(job, token))
}

/** Determines the outcome of an attempt that threw. */
async function failureOf(attempt: Attempt, error: Error): Promise<AttemptResult & { readonly error: Error }> {
  const { job, reason, token } = attempt
  if (error instanceof DelayRequest) return takenBack(await putOff(job, token, error.delayMs))
  if (isDeferral(error)) return { outcome: 'deferred', error }
  if (isCancelReason(reason)) return { outcome: 'cancelled', error: unrecoverable(error, reason) }
  if ((reason === stopReason || reason instanceof PutBack) && error.name !== 'UnrecoverableError')
    return takenBack(await putBack(job, token, error))
  if (!('code' in error) || typeof error.code !== 'string') return { outcome: 'failed', error }
  if (error.code === 'PROCESSOR_INTERRUPTED') return takenBack(await putBack(job, token, error))
  if (error.code === 'JOB_TIMEOUT') return { outcome: 'timedOut', error }
  return { outcome: lostCodes.has(error.code) ? 'lost' : 'failed', error }
}

/** The outcome of an attempt whose job was to return to the queue. */
function takenBack(error: Error): AttemptResult & { readonly error: Error } {
  return { outcome: isDeferral(error) ? 'deferred' : 'failed', error }
}

/** Like BullMQ: passes the signal to functions that declare a third parameter. A function that declares none may use rest parameters. */
function takesSignal(run: WorkerProcessor): boolean {
  return run.length >= 3 || run.length === 0
}

/** Aborts the attempt, and returns the error that it fails with. */
function timeOut(attempt: Attempt, worker: string, ms: number): Error {
  // The same name as that of `AbortSignal.timeout`.
  const error = Object.defineProperty(workerErrors.JOB_TIMEOUT(worker, attempt.id, ms), 'name', { value: 'TimeoutError' })
  attempt.abort(error)
  return error
}

/** Returns an error whose name prevents BullMQ from retrying. */
function unrecoverable(cause: Error, message = cause.message): Error {
  const error = new Error(message, { cause })
  error.name = 'UnrecoverableError'
  return error
}
