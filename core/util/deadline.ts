import { ZinError } from '../errors.js'

/** The work did not end in time. The work itself continues in the background. */
export class DeadlineError extends ZinError {
  constructor(message: string) {
    super('ZIN_DEADLINE', message, { status: 503 })
  }
}

/**
 * Waits for `work`, at most `ms`; then rejects with a {@link DeadlineError} that carries the message, or with the error made.
 * The timer is cleared in any case.
 */
export async function withDeadline<T>(work: Promise<T> | T, ms: number, late: string | (() => Error)): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(typeof late === 'string' ? new DeadlineError(late) : late()), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Bounds what one request waits for its stores: each wait gets what the earlier ones have left, so that their sum has one bound.
 * The time between two waits does not count.
 */
export class WaitBudget {
  #leftMs: number
  readonly #message: string

  /** @param message of the {@link DeadlineError} that a wait ends with when nothing is left. */
  constructor(ms: number, message: string) {
    this.#leftMs = ms
    this.#message = message
  }

  /** The result of `task`: at once when it is there, else when it has come. A task that comes too late is not begun. */
  run<T>(task: () => T | Promise<T>): T | Promise<T> {
    if (this.#leftMs <= 0) throw new DeadlineError(this.#message)
    const result = task()
    if (!(result instanceof Promise)) return result
    const began = performance.now()
    const late = (): Error => {
      // Timers may fire up to a millisecond early.
      this.#leftMs = 0
      return new DeadlineError(this.#message)
    }
    return withDeadline(result, this.#leftMs, late).finally(() => {
      this.#leftMs -= performance.now() - began
    })
  }
}
