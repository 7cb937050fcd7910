import type { Job } from 'bullmq'
import type { Clock } from 'zin'
import type { AttemptOutcome } from '../jobs/types.js'

/** How an attempt ended on this node, before the store has accepted the outcome. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** The return value of the processor; only with `completed`. */
  readonly result?: unknown
  readonly error?: Error
}

/** One attempt of a job on this node, from its start until the store has accepted its outcome. */
export class Attempt {
  readonly job: Job
  readonly token: string | undefined
  readonly version: string
  /** From 1. */
  readonly number: number
  /** Monotonic clock, ms. */
  readonly begunAt: number
  #reason: unknown
  #controller: AbortController | undefined
  #lost: Error | undefined
  #ended: AttemptResult | undefined
  #endedAt = 0

  constructor(job: Job, token: string | undefined, version: string, now: number) {
    this.job = job
    this.token = token
    this.version = version
    this.number = job.attemptsMade + 1
    this.begunAt = now
  }

  get id(): string {
    return this.job.id ?? ''
  }

  /** Set once the lock of the job is lost: another node may run the job, so the outcome of this attempt no longer counts. */
  get lost(): Error | undefined {
    return this.#lost
  }

  /** The reason that the attempt was aborted with; undefined unless it was aborted. */
  get reason(): unknown {
    return this.#reason
  }

  /** Created on first access: it costs more than the rest of an attempt, and most processors do not use it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Undefined while the attempt runs. */
  get ended(): AttemptResult | undefined {
    return this.#ended
  }

  /** Aborts the attempt. Only the first call has an effect. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  lose(error: Error): void {
    this.#lost ??= error
    this.abort(error)
  }

  /** @param now monotonic clock, ms. */
  end(outcome: AttemptResult, now: number): void {
    this.#ended = outcome
    this.#endedAt = now
  }

  /** Run time in ms, up to now if the attempt has not ended. */
  runMs(clock: Clock): number {
    return (this.#ended === undefined ? clock.monotonic() : this.#endedAt) - this.begunAt
  }
}
