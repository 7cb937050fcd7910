import { sequentialHalfWidth } from 'zin/plugins/statistics'
import { minBuckets } from './compare.js'
import { buckets as bucketCount } from './routing.js'
import type { Row } from './table.js'

/** Tolerated deviation as a fraction of the share, for running jobs and those between two evaluations. */
const tolerated = 0.1

/** Minimum number of expected canary jobs before the share is checked. */
const minDue = 20

/** A canary that did not get its expected number of jobs. */
export interface SampleRatio {
  readonly canaryJobs: number
  readonly jobs: number
  readonly due: number
}

/**
 * Checks whether the canary got its share, with a sequential test like that of the metrics. It uses the variance between the sticky
 * buckets, because one large tenant shifts the share without any fault. Undefined if it did, or too little is known.
 */
export function sampleRatioFault(rows: readonly Row[], shares: readonly number[], alpha: number): SampleRatio | undefined {
  let due = 0
  let jobs = 0
  let excess = 0
  let binomial = 0
  for (const { step, stable, canary } of rows) {
    const share = shares[step] ?? 0
    const size = stable.sums[0] + canary.sums[0]
    jobs += size
    due += share * size
    excess += canary.sums[0] - share * size
    binomial += share * (1 - share) * size
  }
  if (due < minDue || binomial === 0) return undefined
  const variance = Math.max(binomial, betweenBuckets(rows, shares))
  const limit = Math.max(tolerated * due, sequentialHalfWidth(variance, due, alpha / 2))
  return Math.abs(excess) > limit ? { canaryJobs: due + excess, jobs, due } : undefined
}

/**
 * Variance of the excess; infinite if too few buckets have jobs. It is not centered on the bucket mean: a large key outside the cohort is
 * missing in only one bucket and would hardly contribute.
 */
function betweenBuckets(rows: readonly Row[], shares: readonly number[]): number {
  let filled = 0
  let squares = 0
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    let excess = 0
    let jobs = 0
    for (const { step, stable, canary } of rows) {
      const ofCanary = canary.buckets[bucket]?.[0] ?? 0
      const size = ofCanary + (stable.buckets[bucket]?.[0] ?? 0)
      jobs += size
      excess += ofCanary - (shares[step] ?? 0) * size
    }
    if (jobs > 0) filled++
    squares += excess ** 2
  }
  return filled < minBuckets ? Number.POSITIVE_INFINITY : (squares * filled) / (filled - 1)
}
