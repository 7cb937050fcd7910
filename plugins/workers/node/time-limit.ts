import type { Clock } from 'zin'
import { promiseOf } from './promise-of.js'

/** How long work may take to react to its signal after its timeout, in ms. */
const graceMs = 2_000

export interface TimeLimit {
  /** ms. */
  readonly ms: number
  /** Called at the timeout: aborts the work, and returns the error that it fails with. */
  readonly late: () => Error
  /** Whether an error of late work remains its outcome, because it reports a change that was already stored. */
  readonly stands: (error: unknown) => boolean
}

interface Limited {
  readonly limit: TimeLimit
  readonly reject: (error: Error) => void
  /** Monotonic clock, ms. */
  dueAt: number
  /** Set at the timeout. */
  lateness: Error | undefined
}

/**
 * Runs work with a timeout. Late work fails with the error of `late` as soon as it ends, or after a grace period of 2 s; because it
 * cannot be stopped, its own outcome is ignored then.
 *
 * All work shares one timer, which is rescheduled when it fires rather than for each piece of work.
 */
export class TimeLimits {
  readonly #clock: Clock
  readonly #running = new Set<Limited>()
  #timer: NodeJS.Timeout | undefined
  #firesAt = Number.POSITIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  run(work: () => unknown, limit: TimeLimit): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const limited: Limited = { limit, reject, dueAt: this.#clock.monotonic() + limit.ms, lateness: undefined }
      this.#running.add(limited)
      if (limited.dueAt < this.#firesAt) this.#fireAt(limited.dueAt)
      promiseOf(work).then(
        (value) => {
          this.#running.delete(limited)
          if (limited.lateness === undefined) resolve(value)
          else reject(limited.lateness)
        },
        (error: unknown) => {
          this.#running.delete(limited)
          reject(limited.lateness === undefined || limit.stands(error) ? error : limited.lateness)
        },
      )
    })
  }

  /** Stops the timer. Work that is still running has no timeout from then on. */
  close(): void {
    clearTimeout(this.#timer)
    this.#firesAt = Number.POSITIVE_INFINITY
  }

  #fireAt(at: number): void {
    clearTimeout(this.#timer)
    this.#firesAt = at
    this.#timer = setTimeout(() => this.#fire(), Math.ceil(at - this.#clock.monotonic())).unref()
  }

  #fire(): void {
    const now = this.#clock.monotonic()
    this.#firesAt = Number.POSITIVE_INFINITY
    let next = Number.POSITIVE_INFINITY
    for (const limited of this.#running) {
      if (limited.dueAt <= now) this.#expire(limited)
      next = Math.min(next, limited.dueAt)
    }
    if (next < this.#firesAt) this.#fireAt(next)
  }

  #expire(limited: Limited): void {
    if (limited.lateness === undefined) {
      limited.dueAt += graceMs
      limited.lateness = limited.limit.late()
    } else {
      limited.dueAt = Number.POSITIVE_INFINITY
      limited.reject(limited.lateness)
    }
  }
}
