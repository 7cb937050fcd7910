/** A source of time. Inject it, so that tests can control it. */
export interface Clock {
  /** Wall clock, ms since 1970 (UTC). */
  now(): number
  /** Monotonic clock in ms with an arbitrary origin, for measuring durations. */
  monotonic(): number
}

/** The system clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
