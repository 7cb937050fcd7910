import { buckets as bucketCount } from './routing.js'
import { columns, type Row, rateOf, tallyOf } from './table.js'
import type { Arm, Metric } from './types.js'

/** With jobs in fewer buckets than this, how much they depend on each other cannot be told. */
export const minBuckets = 8

/** How strongly the rate of a row is drawn to that of all rows, in jobs. Rows with few jobs would seem certain otherwise. */
const pooling = 20

/** The canary less stable, within rows. */
export interface Comparison {
  readonly difference: number
  /** Of the difference; infinite when one arm has too few buckets. */
  readonly variance: number
  /** The variance if all jobs were independent. */
  readonly binomialVariance: number
}

/**
 * The difference of the rates within each row, averaged with the weights of Mantel and Haenszel; rates and shares may change from step
 * to step without an effect on it. Its variance is the larger one of the binomial and of that between the sticky buckets, since jobs of
 * one key (a tenant, say) may fail together. Undefined until both arms have jobs in one row.
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

/** The rows in which both arms have jobs; their weights add up to 1. */
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

/** With half a bad job more than there were, so that none seen is not none possible. */
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

/** Sum of squares, over the buckets, of what each adds to the estimate. */
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
