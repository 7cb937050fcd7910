import type { Clock } from 'zin'
import { promiseOf } from './promise-of.js'

/** How long work that ran out of time gets to notice its signal, in ms. */
const graceMs = 2_000

export interface TimeLimit {
  /** ms. */
  readonly ms: number
  /** Called when the time is over: aborts the work, and returns the error that it fails with. */
  readonly late: () => Error
  /** Whether an error of late work stays its outcome, since what it reports has happened in the store. */
  readonly stands: (error: unknown) => boolean
}

interface Limited {
  readonly limit: TimeLimit
  readonly reject: (error: Error) => void
  /** By the monotonic clock, ms. */
  dueAt: number
  /** Set once the time is over. */
  lateness: Error | undefined
}

/**
 * Runs work that must end in time. The outcome of late work is the error of `late`: as soon as the work ends, or after a grace period.
 * It cannot be stopped, so its own outcome is ignored then.
 *
 * All work shares one timer, which is set anew when it fires rather than for each piece of work.
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

  /** Stops the timer. Work that still runs has no limit any more. */
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
