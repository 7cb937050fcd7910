/** Delays between the attempts of a delivery in ms: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h. */
export const defaultRetries: readonly number[] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000]

/** Limit on the wait a receiver can request. */
const mostWaitMs = 86_400_000

/**
 * Returns the delay in ms after failed attempt number `attempt`, counted from 1: the scheduled delay with ±20 % jitter, but at least the
 * time requested by the receiver, up to a day. Pure.
 *
 * @param random from 0 to 1.
 */
export function retryDelay(retries: readonly number[], attempt: number, random: number, askedMs = 0): number {
  const planned = retries[Math.min(attempt, retries.length) - 1] ?? 0
  return Math.round(Math.max(planned * (0.8 + 0.4 * random), Math.min(askedMs, mostWaitMs)))
}

/** Parses `Retry-After` (seconds or an HTTP date) to ms from `now`; 0 if it is absent or malformed. Pure. */
export function retryAfterMs(value: string | undefined, now: number): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isFinite(at) ? Math.max(0, at - now) : 0
}
