/** What retention may have deleted by now. */
export interface RetentionNow {
  /** ms since 1970. */
  readonly now: number
  /** Days for which entries are kept. */
  readonly days: number
}

const dayMs = 86_400_000
/** Clocks of processes may differ by this, in ms. */
const slackMs = 3_600_000

/**
 * Returns the time from which entries must still be there, in ms since 1970. If the number of days has been raised, what was written before
 * is judged by the lower one.
 */
export function keptSince(retention: RetentionNow | undefined, days = Number.POSITIVE_INFINITY): number {
  if (retention === undefined) return Number.NEGATIVE_INFINITY
  return retention.now - Math.min(days, retention.days) * dayMs + slackMs
}

/** Whether a place may still miss what it knows of a chain, given the time of the newest entry that it knows. */
export function isMissed(lastAt: number | undefined, since: number): boolean {
  return lastAt === undefined || lastAt >= since
}
