/** Where time comes from. Inject it, so that tests can move it. */
export interface Clock {
  /** Wall clock, ms since 1970 (UTC). */
  now(): number
  /** Monotonic clock in ms with an arbitrary origin, for measuring spans. */
  monotonic(): number
}

/** The system clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
