import type { Clock } from './clock.js'

/** A clock that only moves when `advance` or `set` is called. */
export interface FakeClock extends Clock {
  /** Moves both clocks forward by `ms`. */
  advance(ms: number): void
  /** Sets the wall clock; the monotonic clock does not change. */
  set(now: number): void
}

/** Creates a clock that stands still at `now` (ms since 1970; default 2026-01-01). */
export function fakeClock(now = Date.UTC(2026, 0, 1)): FakeClock {
  let wall = now
  let monotonic = 0
  return {
    now: () => wall,
    monotonic: () => monotonic,
    advance: (ms) => {
      wall += ms
      monotonic += ms
    },
    set: (to) => {
      wall = to
    },
  }
}
