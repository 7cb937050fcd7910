import type { Job } from 'bullmq'
import type { Clock } from 'zin'
import type { AttemptOutcome } from '../jobs/types.js'

/** How an attempt ended in this process; the store has yet to accept that. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** What the processor gave; `completed` only. */
  readonly result?: unknown
  readonly error?: Error
}

/** One attempt of a job in this process, from its begin until the store has accepted what came of it. */
export class Attempt {
  readonly job: Job
  readonly token: string | undefined
  readonly version: string
  /** From 1. */
  readonly number: number
  /** By the monotonic clock, ms. */
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

  /** Set once the lock of the job is lost: another process may run it, so that this attempt decides nothing any more. */
  get lost(): Error | undefined {
    return this.#lost
  }

  /** What it was aborted with; undefined while it may go on. */
  get reason(): unknown {
    return this.#reason
  }

  /** Made when it is first asked for: it costs more than all the rest of an attempt, and most processors take none. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Undefined while it runs. */
  get ended(): AttemptResult | undefined {
    return this.#ended
  }

  /** The first reason stands. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  lose(error: Error): void {
    this.#lost ??= error
    this.abort(error)
  }

  /** @param now by the monotonic clock, ms. */
  end(outcome: AttemptResult, now: number): void {
    this.#ended = outcome
    this.#endedAt = now
  }

  /** How long it ran, or has run so far, in ms. */
  runMs(clock: Clock): number {
    return (this.#ended === undefined ? clock.monotonic() : this.#endedAt) - this.begunAt
  }
}
