import type { Clock } from '../util/clock.js'

/** A pending call with a deadline. */
export interface Watched {
  /** Monotonic ms of the first sweep that included it; `undefined` before. */
  since: number | undefined
  readonly timeoutMs: number
  /** Called when it took longer than `timeoutMs`; it is no longer watched then. */
  expire(): void
}

/**
 * Detects calls that take too long, with one unref'd interval for all calls instead of a timer for each.
 * A call's time starts at the first sweep that includes it, so that starting a call does not read the clock and a blocked
 * event loop does not cause timeouts. A timeout is detected up to two intervals after the deadline, never before it.
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

  /** Stops watching a call that ended in time. */
  forget(call: Watched): void {
    this.#calls.delete(call)
  }

  /** Checks all calls once. Called by the interval, which stops at the first sweep without pending calls. */
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
