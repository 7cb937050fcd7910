import { logEvidenceAbove } from 'zin/plugins/statistics'

/** Attempts that ended in one minute. */
export interface MinuteCounts {
  readonly completed: number
  readonly failed: number
}

/** The attempts that show best that a failure rate is above its limit. */
export interface FailureEvidence {
  /** Natural logarithm of the evidence over all beginnings. */
  readonly log: number
  readonly failed: number
  readonly attempts: number
  readonly minutes: number
}

/** Most minutes that are looked at. */
export const evidenceMinutes = 60
/** A queue whose failure rate is at its threshold raises a false alarm once in so many minutes with jobs, on average, at most: 30 days. */
export const falseAlarmMinutes = 43_200

/**
 * The evidence that the failure rate is above `limit` since any of the last 60 minutes with attempts: the sum of one sequential test for
 * each minute that a problem may have begun with (Shiryaev and Roberts). While the rate is not above the limit, the sum grows by one a
 * minute on average, however often it is looked at, so that it reaches n after n minutes or more on average. Pure.
 *
 * @param minutes oldest first; the last one may not be over.
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
