import { logEvidenceAbove } from 'zin/plugins/statistics'

/** Attempts that ended in a given minute. */
export interface MinuteCounts {
  readonly completed: number
  readonly failed: number
}

/** The evidence that a failure rate is above its limit, and the window of attempts with the strongest evidence. */
export interface FailureEvidence {
  /** Natural logarithm of the evidence, summed over all possible start minutes. */
  readonly log: number
  readonly failed: number
  readonly attempts: number
  readonly minutes: number
}

/** Limit on the minutes considered. */
export const evidenceMinutes = 60
const leastMinutes = 2
const minutesOfDay = 1_440

/**
 * Returns the mean number of minutes with jobs between two false alarms of a queue whose failure rate is exactly at its threshold, so that a
 * day is free of them with at least this probability: 0.95 gives 28,800 minutes, which are 20 days.
 */
export function falseAlarmMinutes(confidence: number): number {
  return minutesOfDay / (1 - confidence)
}

/** Returns the attempts of the newest minutes that have at least `least` attempts together, at most an hour and at least two minutes. */
export function recentFailures(minutes: readonly MinuteCounts[], least: number): { readonly failed: number; readonly attempts: number } {
  let [failed, attempts] = [0, 0]
  for (const [index, minute] of minutes.slice(-evidenceMinutes).toReversed().entries()) {
    if (index >= leastMinutes && attempts >= least) break
    failed += minute.failed
    attempts += minute.completed + minute.failed
  }
  return { failed, attempts }
}

/**
 * Returns the evidence that the failure rate has been above `limit` since one of the last 60 minutes with attempts: the sum of one
 * sequential test for each minute in which a problem may have started (the Shiryaev–Roberts procedure). While the rate is not above the
 * limit, the sum grows by at most one per minute on average, no matter how often it is evaluated, so the mean time until it reaches n is at
 * least n minutes. Pure.
 *
 * @param minutes oldest first; the last one may still be in progress.
 */
export function failureEvidence(minutes: readonly MinuteCounts[], limit: number): FailureEvidence {
  let [failed, attempts, count, sum] = [0, 0, 0, Number.NEGATIVE_INFINITY]
  let best = { log: Number.NEGATIVE_INFINITY, failed: 0, attempts: 0, minutes: 0 }
  const used = minutes.filter((minute) => minute.completed + minute.failed > 0).slice(-evidenceMinutes)
  for (const minute of used.toReversed()) {
    failed += minute.failed
    attempts += minute.completed + minute.failed
    count++
    const log = evidenceOf(failed, attempts, limit)
    sum = logSum(sum, log)
    if (log > best.log) best = { log, failed, attempts, minutes: count }
  }
  return { ...best, log: sum }
}

function evidenceOf(failed: number, attempts: number, limit: number): number {
  if (failed === 0 || limit >= 1) return Number.NEGATIVE_INFINITY
  return limit <= 0 ? Number.POSITIVE_INFINITY : logEvidenceAbove(failed, attempts, limit)
}

/** log(e^a + e^b). */
function logSum(a: number, b: number): number {
  const [low, high] = a < b ? [a, b] : [b, a]
  return Number.isFinite(low) && Number.isFinite(high) ? high + Math.log1p(Math.exp(low - high)) : high
}
