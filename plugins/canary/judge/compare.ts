import { buckets as bucketCount } from './routing.js'
import { columns, type Row, rateOf, tallyOf } from './table.js'
import type { Arm, Metric } from './types.js'

/** Minimum number of filled buckets for estimating how much jobs depend on each other. */
export const minBuckets = 8

/** Strength, in jobs, with which the rate of a row is shrunk to that of all rows. Without it, rows with few jobs would look certain. */
const pooling = 20

/** The rate of the canary minus that of stable, within rows. */
export interface Comparison {
  readonly difference: number
  /** Variance of the difference; infinite if one arm has too few buckets. */
  readonly variance: number
  /** The variance if all jobs were independent. */
  readonly binomialVariance: number
}

/**
 * Returns the difference of the rates within each row, averaged with Mantel-Haenszel weights, so that changes of rates and shares between
 * steps do not affect it. Its variance is the larger of the binomial variance and the variance between the sticky buckets, since jobs with
 * the same key (such as a tenant) may fail together. Undefined until both arms have jobs in one row.
 */
export function compare(rows: readonly Row[], metric: Metric): Comparison | undefined {
  const weighted = weigh(rows, metric)
  if (weighted.length === 0) return undefined
  let difference = 0
  for (const { canary, stable, weight } of weighted) difference += weight * (rateOf(canary) - rateOf(stable))
  const binomialVariance = binomial(weighted, 'canary') + binomial(weighted, 'stable')
  const variance = Math.max(binomialVariance, betweenBuckets(weighted, 'canary', metric) + betweenBuckets(weighted, 'stable', metric))
  return { difference, variance, binomialVariance }
}

interface Weighted extends Record<Arm, { readonly jobs: number; readonly bad: number }> {
  readonly row: Row
  readonly weight: number
}

/** Returns the rows in which both arms have jobs; their weights add up to 1. */
function weigh(rows: readonly Row[], metric: Metric): readonly Weighted[] {
  const weighted: Weighted[] = []
  let sum = 0
  for (const row of rows) {
    const stable = tallyOf(row.stable, metric)
    const canary = tallyOf(row.canary, metric)
    if (stable.jobs === 0 || canary.jobs === 0) continue
    const weight = (stable.jobs * canary.jobs) / (stable.jobs + canary.jobs)
    sum += weight
    weighted.push({ row, weight, stable, canary })
  }
  return weighted.map((each) => ({ ...each, weight: each.weight / sum }))
}

/** Binomial variance with half a bad job added, so that zero failures do not give zero variance. */
function binomial(weighted: readonly Weighted[], arm: Arm): number {
  let jobs = 0
  let bad = 0
  for (const each of weighted) {
    jobs += each[arm].jobs
    bad += each[arm].bad
  }
  const pooled = (bad + 0.5) / (jobs + 1)
  let variance = 0
  for (const each of weighted) {
    const cell = each[arm]
    const part = cell.jobs / jobs
    const rate = (cell.bad + 0.5 * part + pooling * pooled) / (cell.jobs + part + pooling)
    variance += (each.weight * each.weight * rate * (1 - rate)) / cell.jobs
  }
  return variance
}

/** Sum over the buckets of their squared contributions to the estimate. */
function betweenBuckets(weighted: readonly Weighted[], arm: Arm, metric: Metric): number {
  const column = columns[metric]
  let filled = 0
  let squares = 0
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    let influence = 0
    let jobs = 0
    for (const each of weighted) {
      const counts = each.row[arm].buckets[bucket]
      if (counts === undefined) continue
      const cell = each[arm]
      jobs += counts[column.jobs]
      influence += (each.weight / cell.jobs) * (counts[column.bad] - (cell.bad / cell.jobs) * counts[column.jobs])
    }
    if (jobs > 0) filled++
    squares += influence * influence
  }
  return filled < minBuckets ? Number.POSITIVE_INFINITY : (squares * filled) / (filled - 1)
}
