import type { ChainStart } from './places/witness.js'

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

/** Whether entries at the start of a chain are gone that a place knows, and that may be too new to be deleted. */
export function isTooShort({ purged }: { readonly purged: number }, known: ChainStart, keptSince: number): boolean {
  return purged > known.purged && (known.lastAt === undefined || known.lastAt >= keptSince)
}
