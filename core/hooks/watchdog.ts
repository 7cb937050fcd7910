import type { Clock } from '../util/clock.js'

/** A pending call with a deadline. */
export interface Watched {
  /** Monotonic ms of the first sweep that saw it; `undefined` before. */
  since: number | undefined
  readonly timeoutMs: number
  /** It took longer than `timeoutMs`; it is not watched any more. */
  expire(): void
}

/**
 * Finds calls that take too long, with one unref'd interval for all of them instead of a timer for each.
 * A call's time runs from the first sweep that sees it, so that starting one does not read the clock and a blocked
 * event loop does not cause timeouts. It is found one to two intervals after its deadline, never before.
 */
export class Watchdog {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #calls = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(clock: Clock, intervalMs = 250) {
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  get running(): boolean {
    return this.#timer !== undefined
  }

  watch(call: Watched): void {
    this.#calls.add(call)
    if (this.#timer === undefined && !this.#closed) this.#start()
  }

  /** The call ended in time. */
  forget(call: Watched): void {
    this.#calls.delete(call)
  }

  /** One sweep. The interval calls it; it stops at the first sweep without pending calls. */
  sweep(): void {
    const now = this.#clock.monotonic()
    for (const call of this.#calls) {
      call.since ??= now
      if (now - call.since < call.timeoutMs) continue
      this.#calls.delete(call)
      call.expire()
    }
    if (this.#calls.size === 0) this.#stop()
  }

  close(): void {
    this.#closed = true
    this.#calls.clear()
    this.#stop()
  }

  #start(): void {
    this.#timer = setInterval(() => this.sweep(), this.#intervalMs)
    this.#timer.unref()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
