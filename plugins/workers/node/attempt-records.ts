import type { Job } from 'bullmq'
import { type Clock, type Logger, messageOf } from 'zin'
import { dueSince, isCancelReason, type Queues } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import { loggable } from '../jobs/error-text.js'
import { jobView } from '../jobs/job-view.js'
import type { AttemptEnd, AttemptOutcome } from '../jobs/types.js'
import type { Attempt } from './attempt.js'
import type { Counters } from './counters.js'
import type { AttemptPlace } from './job-middleware.js'
import type { RunningJobs } from './running-jobs.js'

export interface RecordsParts extends AttemptPlace {
  readonly running: RunningJobs
  readonly counters: Counters
  readonly queues: Queues
  readonly hooks: Pick<HookSlots, 'onJobComplete' | 'onJobFailed' | 'onAttemptEnd' | 'afterAttempt'>
  readonly clock: Clock
  readonly log: Logger
  readonly queue: string
  /** Returns the version that ran a job lost with another node, if known. */
  readonly lostVersion: (job: Job | undefined) => Promise<string | undefined>
  /** Called when a job of this consumer has failed permanently. */
  readonly onDead: (job: Job) => void
}

/** The outcome to record. */
interface Facts {
  readonly outcome: AttemptOutcome
  readonly final: boolean
  readonly error?: Error | undefined
}

/** Maximum number of pending `afterAttempt` calls; while it is reached, the worker starts no attempts. */
const mostPending = 1_000

/** BullMQ's failure reason for a job that stalled more than `maxStalledCount` times. */
const stalledTooOften = 'job stalled more than allowable limit'

const countedAs: Readonly<Record<AttemptOutcome, Exclude<AttemptOutcome, 'deferred'> | undefined>> = {
  completed: 'completed',
  failed: 'failed',
  lost: 'lost',
  timedOut: 'timedOut',
  cancelled: 'cancelled',
  deferred: undefined,
}

/** Records each attempt of one consumer once, after the store has accepted its outcome: updates the counts, calls the hooks, and logs. */
export class AttemptRecords {
  readonly #parts: RecordsParts
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: RecordsParts) {
    this.#parts = parts
  }

  /** Whether too many `afterAttempt` calls are pending to start another attempt. */
  get full(): boolean {
    return this.#pending.size >= mostPending
  }

  /** Resolves when a pending `afterAttempt` call has ended. */
  async room(): Promise<void> {
    await Promise.race(this.#pending)
  }

  /** Resolves when all pending `afterAttempt` calls have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  completed(job: Job, stored: unknown): void {
    const { hooks, running, worker } = this.#parts
    const attempt = running.take(job)
    this.#record(job, attempt, { outcome: 'completed', final: true })
    if (hooks.onJobComplete.active) {
      hooks.onJobComplete.call(worker, jobView(job, job.attemptsMade), attempt === undefined ? stored : attempt.ended?.result)
    }
  }

  failed(job: Job, error: Error): void {
    const { hooks, log, onDead, running, worker } = this.#parts
    const attempt = running.take(job)
    const final = isFinal(job)
    logFailure(worker, job, error, log)
    const record = (): void => {
      if (final) onDead(job)
      this.#record(job, attempt, { outcome: failedOutcome(attempt, error), final, error })
      if (hooks.onJobFailed.active) hooks.onJobFailed.call(worker, { ...jobView(job, job.attemptsMade), final }, error)
    }
    if (attempt !== undefined) record()
    else void this.#restore(job).then(record)
  }

  /** Records that the job went back to the queue without using up an attempt. */
  deferred(attempt: Attempt): void {
    const { job } = attempt
    this.#parts.running.take(job)
    this.#record(job, attempt, { outcome: 'deferred', final: false, error: attempt.ended?.error })
  }

  /** Records that a job lost its node and went back to the queue. */
  stalled(id: string): void {
    const { running, worker } = this.#parts
    const error = workerErrors.JOB_LOCK_LOST(worker, id)
    const attempt = running.lose(id, error)
    if (attempt !== undefined) this.#record(attempt.job, attempt, { outcome: 'lost', final: false, error })
    else void this.#lostElsewhere(id, error)
  }

  /** Whether any hook receives individual jobs. */
  get #hooked(): boolean {
    const { afterAttempt, onAttemptEnd, onJobFailed } = this.#parts.hooks
    return onAttemptEnd.active || afterAttempt.active || onJobFailed.active
  }

  async #lostElsewhere(id: string, error: Error): Promise<void> {
    const { counters, log, lostVersion, queue, queues, worker } = this.#parts
    try {
      const job = (await queues.job(queue, id).catch(() => undefined))?.job
      const version = await lostVersion(job)
      if (version !== undefined) counters.lost(version)
      if (job === undefined || !this.#hooked) return
      await this.#restore(job)
      this.#callHooks(job, {
        outcome: 'lost',
        final: false,
        error,
        version: version ?? null,
        node: null,
        attempt: job.attemptsMade + 1,
        runMs: 0,
      })
    } catch (reason) {
      log.warn({ worker, job: id, err: reason }, `a lost attempt of worker "${worker}" was not counted: ${messageOf(reason)}`)
    }
  }

  /** @param attempt undefined when the job failed before it ran. */
  #record(job: Job, attempt: Attempt | undefined, { error, final, outcome }: Facts): void {
    const { clock, counters, hooks, node } = this.#parts
    const runMs = attempt?.runMs(clock) ?? 0
    const column = countedAs[outcome]
    if (attempt !== undefined && column !== undefined) counters[column](attempt.version, runMs)
    if (!hooks.onAttemptEnd.active && !hooks.afterAttempt.active) return
    const { version = null, number = Math.max(1, job.attemptsMade) } = attempt ?? {}
    this.#callHooks(job, { outcome, final, error, version, node, attempt: number, runMs })
  }

  #callHooks(job: Job, facts: Facts & Pick<AttemptEnd, 'version' | 'node' | 'attempt' | 'runMs'>): void {
    const { attempt, error, final, node, outcome, runMs, version } = facts
    const { hooks, worker } = this.#parts
    if (!hooks.onAttemptEnd.active && !hooks.afterAttempt.active) return
    const plain = { worker, version, node, job: jobView(job, attempt), attempt, final, outcome, runMs, waitMs: waitOf(job) }
    const end: AttemptEnd = error === undefined ? plain : { ...plain, error }
    hooks.onAttemptEnd.call(end)
    if (hooks.afterAttempt.active) this.#wait(end)
  }

  #wait(end: AttemptEnd): void {
    const { hooks, log, worker } = this.#parts
    const settled = hooks.afterAttempt.call(end).then((failures) => {
      for (const { plugin, error } of failures) {
        log.error(
          { worker, job: end.job.id, plugin, err: error },
          `the afterAttempt hook of ${plugin} failed for an attempt of worker "${worker}": ${error.message}`,
        )
      }
    })
    this.#pending.add(settled)
    void settled.finally(() => this.#pending.delete(settled))
  }

  /** Restores the original data of a job that did not run on this node. If that fails, the job keeps its data as stored. */
  async #restore(job: Job): Promise<void> {
    const { log, queues, worker } = this.#parts
    try {
      job.data = await queues.restoredData(job)
    } catch (unreadable) {
      log.debug({ worker, job: job.id, err: unreadable }, 'the data of a failed job could not be restored; hooks receive it as stored')
    }
  }
}

/** Logs a failed job without its data, which may be confidential. */
function logFailure(worker: string, job: Job, error: Error, log: Logger): void {
  const facts = { worker, job: job.id, name: job.name, attempt: job.attemptsMade, err: loggable(error) }
  if (isFinal(job)) log.warn(facts, `a job of worker "${worker}" failed permanently: ${facts.err.message}`)
  else log.debug(facts, `a job of worker "${worker}" failed and will be retried: ${facts.err.message}`)
}

/** Whether a failed job is not retried, regardless of its remaining attempts. */
function isFinal(job: Job): boolean {
  return job.finishedOn !== undefined
}

/** The outcome of an attempt that is stored as failed, or of a job that failed before it ran. */
function failedOutcome(attempt: Attempt | undefined, { message }: Error): AttemptOutcome {
  const outcome = attempt?.ended?.outcome
  // The result could not be stored.
  if (outcome === 'completed') return 'failed'
  if (outcome !== undefined) return outcome
  if (isCancelReason(message)) return 'cancelled'
  return message === stalledTooOften ? 'lost' : 'failed'
}

/** From when the job was ready, which for a retry is after its backoff. */
function waitOf(job: Job): number {
  return job.processedOn === undefined ? 0 : Math.max(0, job.processedOn - dueSince(job))
}
