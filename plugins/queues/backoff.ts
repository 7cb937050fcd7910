import type { BackoffOptions } from 'bullmq'

/** When a failed job is tried again. */
export type JobBackoff = BackoffOptions & {
  /** The longest wait in ms, jitter included. Default: 86400000, 24 h. */
  readonly max?: number
}

/** The longest wait before a retry unless `max` says otherwise, in ms. */
export const defaultMaxMs = 86_400_000
/** The largest `max` and `delay`, in ms: one year. */
export const mostBackoffMs = 365 * 86_400_000

export const backoffRule =
  '{type: "fixed" or "exponential", delay: 0 to 86400000 ms, max?: 1 to 31536000000 ms (default 86400000), jitter?: 0 to 1 (default 0)}'

/** Why a backoff cannot be used, to follow "its backoff"; undefined if it can. Pure. */
export function backoffFault(backoff: number | JobBackoff): string | undefined {
  const { delay = 0, jitter = 0, max = defaultMaxMs } = typeof backoff === 'number' ? { delay: backoff } : backoff
  if (!isIn(delay, 0, mostBackoffMs)) return `has the delay ${delay} instead of 0 to ${mostBackoffMs} ms`
  if (!isIn(max, 1, mostBackoffMs)) return `has the max ${max} instead of 1 to ${mostBackoffMs} ms`
  if (!isIn(jitter, 0, 1)) return `has the jitter ${jitter} instead of 0 to 1`
  return undefined
}

/**
 * How long to wait before a retry, in whole ms: from 0 to `max`, whatever the job's options contain. Pure.
 *
 * @param attempt the number of the attempt that failed, from 1.
 * @param random from 0 to 1: the share of the jitter that is taken off.
 */
export function retryWait(backoff: number | JobBackoff, attempt: number, random: number): number {
  const given: Partial<JobBackoff> = typeof backoff === 'number' ? { delay: backoff } : backoff
  const delay = limited(given.delay, 0, mostBackoffMs, 0)
  const max = limited(given.max, 0, mostBackoffMs, defaultMaxMs)
  const jitter = limited(given.jitter, 0, 1, 0)
  // 2 ** 40 ms are 34 years, more than any max: further doublings would only lose precision.
  const doublings = given.type === 'exponential' ? limited(attempt - 1, 0, 40, 0) : 0
  return Math.floor(Math.min(max, delay * 2 ** doublings) * (1 - jitter * limited(random, 0, 1, 0)))
}

function isIn(value: unknown, from: number, to: number): boolean {
  return typeof value === 'number' && value >= from && value <= to
}

/** Options of other producers may contain anything. */
function limited(value: unknown, from: number, to: number, otherwise: number): number {
  return typeof value === 'number' && !Number.isNaN(value) ? Math.min(to, Math.max(from, value)) : otherwise
}
