import { sequentialHalfWidth } from 'zin/plugins/statistics'
import { minBuckets } from './compare.js'
import { buckets as bucketCount } from './routing.js'
import type { Row } from './table.js'

/** Part of its share by which the canary may miss it: jobs that still run, and those between two looks. */
const tolerated = 0.1

/** Jobs that were due to the canary before its share is compared. */
const minDue = 20

/** A canary that did not get the jobs that were due. */
export interface SampleRatio {
  readonly canaryJobs: number
  readonly jobs: number
  readonly due: number
}

/**
 * Whether the canary got its share: a sequential test like that of the metrics, with the variance between the sticky buckets, as one
 * large tenant shifts the share without any fault. Undefined when it did, or too little is known.
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
 * Variance of the excess; infinite when too few buckets have jobs. Not around the mean of the buckets: a large key that is not in the
 * cohort lacks in one bucket only, and would hardly vary.
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
