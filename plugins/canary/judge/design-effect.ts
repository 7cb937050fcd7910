import { minBuckets } from './compare.js'
import { buckets as bucketCount } from './routing.js'
import { columns, type Row, total } from './table.js'
import type { Metric } from './types.js'

/**
 * Returns how many canary jobs count as one independent job (Kish's design effect): the variance of the bad jobs between the sticky
 * buckets, divided by that of independent jobs. Jobs with the same key (such as a tenant) may fail together. Returns 1 while there are
 * too few buckets or bad jobs to estimate it, and while the excess is within chance for independent jobs.
 */
export function designEffect(rows: readonly Row[], metric: Metric): number {
  const { jobs, bad } = total(rows, 'canary', metric)
  const rate = bad / jobs
  const expected = jobs * rate * (1 - rate)
  if (!(expected > 0)) return 1
  const column = columns[metric]
  let filled = 0
  let squares = 0
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    let jobsOfBucket = 0
    let badOfBucket = 0
    for (const { canary } of rows) {
      const counts = canary.buckets[bucket]
      jobsOfBucket += counts?.[column.jobs] ?? 0
      badOfBucket += counts?.[column.bad] ?? 0
    }
    if (jobsOfBucket > 0) filled++
    squares += (badOfBucket - rate * jobsOfBucket) ** 2
  }
  if (filled < minBuckets) return 1
  const ratio = (squares * filled) / ((filled - 1) * expected)
  return Math.max(1, ratio / (1 + Math.sqrt(2 / (filled - 1))))
}
