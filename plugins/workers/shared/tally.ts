import type { AttemptCounts, AttemptDelta } from './contract.js'

/** Attempts as stores count them: whole numbers only, so that sums are exact. */
export interface Tally {
  readonly completed: number
  readonly failed: number
  readonly lost: number
  /** µs. */
  readonly totalUs: number
}

export const noTally: Tally = { completed: 0, failed: 0, lost: 0, totalUs: 0 }

export function tallyOf({ completed, failed, lost, totalMs }: AttemptCounts): Tally {
  return { completed, failed, lost, totalUs: Math.round(totalMs * 1000) }
}

export function countsOf({ completed, failed, lost, totalUs }: Tally): AttemptCounts {
  return { completed, failed, lost, totalMs: totalUs / 1000 }
}

export function sum(a: Tally, b: Tally): Tally {
  return {
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    lost: a.lost + b.lost,
    totalUs: a.totalUs + b.totalUs,
  }
}

/** One tally for each key, in the order of the keys, so that writers who add to several rows take them in the same order. */
export function tallies(deltas: readonly AttemptDelta[], keyOf: (delta: AttemptDelta) => string): readonly (readonly [string, Tally])[] {
  const found = new Map<string, Tally>()
  for (const delta of deltas) {
    const key = keyOf(delta)
    found.set(key, sum(found.get(key) ?? noTally, tallyOf(delta)))
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1))
}
