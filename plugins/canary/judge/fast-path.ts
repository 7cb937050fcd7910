import { wilsonUpper } from 'zin/plugins/statistics'
import { type Row, rateOf, type Tally, total } from './table.js'
import type { Metric } from './types.js'

/** Quantiles of the normal distribution: 99 % for the jobs of stable as a whole, 95 % for those of the steps that the canary ran in. */
const surely = 2.3263
const probably = 1.6449

/** What stable is taken to fail at most while nothing at all is known of it. */
const unknownRate = 0.5

/**
 * The highest rate that stable may have: over all of its jobs and those before the canary, and over the steps in the proportion in which
 * the canary had its jobs in them. The second one keeps an outage that hits both versions late from being blamed on the canary.
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
    // A step without jobs of stable tells nothing: taken to be as the rest.
    const tally = known.jobs > 0 ? known : all
    rate += part * rateOf(tally)
    squares += (part * part) / tally.jobs
  }
  return Math.max(overall, wilsonUpper(rate / squares, 1 / squares, probably))
}
