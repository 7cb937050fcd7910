import { logEvidenceAbove, wilsonUpper } from 'zin/plugins/statistics'
import type { Seen } from './judge.js'
import { patience, sinceFailing } from './latest.js'
import { rateOf, type Tally, total } from './table.js'
import type { Metric } from './types.js'

/** Quantiles of the normal distribution: 99 % for all stable jobs together, 95 % for those of the steps in which the canary ran. */
const surely = 2.3263
const probably = 1.6449

/** Assumed upper bound of the stable failure rate while nothing is known about it. */
const unknownRate = 0.5

/** In an outage, more than this share of the jobs of both versions is bad. */
export const leastOutage = 0.1
const outageAlpha = 0.01

/** Stable jobs since the canary began to fail that tell whether stable fails too. */
const leastStable = 6

/** One stable job that fails is no sign of an outage, however few have ended. */
const chanceFailures = 1

/** Stable jobs from before the canary: all that are known, and of these, those of the last minutes. */
export interface Before {
  readonly baseline: Tally
  readonly recent: Tally
}

/**
 * Returns upper bounds of the stable rate: over all stable jobs, including those before the canary; and the higher one of those over the
 * steps, weighted by the canary's jobs in them, and since the canary began to fail, 0 if unknown. The second one keeps an outage of both
 * versions from being blamed on the canary.
 */
export function stableUppers(
  { latest, rows }: Seen,
  { baseline, recent }: Before,
  metric: Metric,
): { readonly overall: number; readonly meanwhile: number } {
  const stable = total(rows, 'stable', metric)
  const all = { jobs: stable.jobs + baseline.jobs, bad: stable.bad + baseline.bad }
  if (all.jobs === 0) return { overall: unknownRate, meanwhile: 0 }
  const overall = wilsonUpper(all.bad, all.jobs, surely)
  const canary = total(rows, 'canary', metric)
  const { stable: now } = sinceFailing(latest, metric) ?? {}
  const lately = now !== undefined && now.bad > chanceFailures && rateOf(now) > leastOutage ? wilsonUpper(now.bad, now.jobs, probably) : 0
  const begunInOutage = exceeds(recent, Math.max(leastOutage, overall))
  if (canary.jobs === 0 || (stable.jobs === 0 && !begunInOutage)) return { overall, meanwhile: lately }
  let rate = 0
  let squares = 0
  for (const step of new Set(rows.map((row) => row.step))) {
    const ofStep = rows.filter((row) => row.step === step)
    const part = total(ofStep, 'canary', metric).jobs / canary.jobs
    const known = total(ofStep, 'stable', metric)
    // A step without stable jobs is assumed to be like the rest.
    const tally = known.jobs > 0 ? known : begunInOutage ? recent : all
    rate += part * rateOf(tally)
    squares += (part * part) / tally.jobs
  }
  // Few jobs without a bad one are no sign of an outage.
  const meanwhile = stable.bad <= chanceFailures ? 0 : wilsonUpper(rate / squares, 1 / squares, probably)
  return { overall, meanwhile: Math.max(lately, meanwhile) }
}

/** Whether too few stable jobs have ended since the canary began to fail to tell that stable does not, and that may be chance. */
export function isTooEarly({ latest, rows }: Seen, metric: Metric, shares: readonly number[]): boolean {
  const now = sinceFailing(latest, metric)
  if (now === undefined || now.stable.jobs >= leastStable) return false
  const step = rows.reduce((last, row) => Math.max(last, row.step), 0)
  return now.canary.bad < patience(shares[step] ?? 1)
}

/** Whether more than `limit` of the jobs are bad, by a sequential test. */
export function exceeds({ bad, jobs }: Tally, limit: number): boolean {
  return bad > 0 && limit < 1 && logEvidenceAbove(bad, jobs, limit) >= -Math.log(outageAlpha)
}
