import { wilsonUpper } from 'zin/plugins/statistics'
import { type Row, rateOf, type Tally, total } from './table.js'
import type { Metric } from './types.js'

/** Quantiles of the normal distribution: 99 % for all stable jobs together, 95 % for those of the steps in which the canary ran. */
const surely = 2.3263
const probably = 1.6449

/** Assumed upper bound of the stable failure rate while nothing is known about it. */
const unknownRate = 0.5

/**
 * Returns an upper bound of the stable rate: the larger of the bound over all stable jobs including the baseline, and the bound over the
 * steps, weighted by the canary's jobs in them. The second one keeps a late outage of both versions from being blamed on the canary.
 */
export function stableUpper(rows: readonly Row[], baseline: Tally, metric: Metric): number {
  const stable = total(rows, 'stable', metric)
  const all = { jobs: stable.jobs + baseline.jobs, bad: stable.bad + baseline.bad }
  if (all.jobs === 0) return unknownRate
  const overall = wilsonUpper(all.bad, all.jobs, surely)
  const canary = total(rows, 'canary', metric)
  if (canary.jobs === 0 || stable.jobs === 0) return overall
  let rate = 0
  let squares = 0
  for (const step of new Set(rows.map((row) => row.step))) {
    const ofStep = rows.filter((row) => row.step === step)
    const part = total(ofStep, 'canary', metric).jobs / canary.jobs
    const known = total(ofStep, 'stable', metric)
    // A step without stable jobs is assumed to be like the rest.
    const tally = known.jobs > 0 ? known : all
    rate += part * rateOf(tally)
    squares += (part * part) / tally.jobs
  }
  return Math.max(overall, wilsonUpper(rate / squares, 1 / squares, probably))
}
