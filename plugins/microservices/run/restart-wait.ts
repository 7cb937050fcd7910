const firstMs = 200
const longestMs = 30_000

/** Returns the backoff before a restart, in ms: doubled each time, with jitter. @param attempt from 0. */
export function restartWait(attempt: number, random: number): number {
  return Math.min(firstMs * 2 ** Math.min(attempt, 20), longestMs) * (0.8 + 0.2 * random)
}
