import { ZinError } from '../errors.js'
import { utilErrors } from './errors.js'

/** Work did not finish in time. The work itself continues in the background. */
export class DeadlineError extends ZinError {
  constructor(message: string) {
    const declared = utilErrors.ZIN_DEADLINE(message)
    super(declared.code, declared.message, declared)
  }
}

/**
 * Awaits `work` for at most `ms`. Then rejects with a {@link DeadlineError} that has the message `late`, or with the error that `late`
 * returns. The timer is always cleared.
 */
export function withDeadline<T>(work: Promise<T> | T, ms: number, late: string | (() => Error)): Promise<T> {
  return bounded(Promise.resolve(work), ms, { late: typeof late === 'string' ? () => new DeadlineError(late) : late })
}

/** A single promise, because each costs a microsecond or more where requests are traced by async context. */
function bounded<T>(work: Promise<T>, ms: number, { late, settled }: { late: () => Error; settled?: () => void }): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    const end = (): void => {
      clearTimeout(timer)
      settled?.()
    }
    work.then(
      (result) => {
        end()
        resolve(result)
      },
      (error: unknown) => {
        end()
        reject(error)
      },
    )
  })
}

/**
 * Bounds the total time that one request waits for its stores: each wait gets the time that earlier ones left.
 * Time between two waits does not count.
 */
export class WaitBudget {
  #leftMs: number
  readonly #message: string

  /** @param message message of the {@link DeadlineError} when the budget is used up. */
  constructor(ms: number, message: string) {
    this.#leftMs = ms
    this.#message = message
  }

  /** Runs `task` and returns its result, as a promise only if the task returned one. If the budget is used up, throws without running it. */
  run<T>(task: () => T | Promise<T>): T | Promise<T> {
    if (this.#leftMs <= 0) throw new DeadlineError(this.#message)
    const result = task()
    if (!(result instanceof Promise)) return result
    const began = performance.now()
    return bounded(result, this.#leftMs, {
      // Timers may fire up to a millisecond early, so the budget is used up here.
      late: () => {
        this.#leftMs = 0
        return new DeadlineError(this.#message)
      },
      settled: () => {
        this.#leftMs -= performance.now() - began
      },
    })
  }
}
