const firstMs = 200
const longestMs = 30_000

/** The wait before a service that has ended is started again, in ms: doubled each time, with jitter. @param attempt from 0. */
export function restartWait(attempt: number, random: number): number {
  return Math.min(firstMs * 2 ** Math.min(attempt, 20), longestMs) * (0.8 + 0.2 * random)
}
