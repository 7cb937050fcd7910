import { logEvidenceAbove, sequentialHalfWidth } from 'zin/plugins/statistics'
import { type Comparison, compare } from './compare.js'
import { designEffect } from './design-effect.js'
import { type Before, isTooEarly, stableUppers } from './fast-path.js'
import type { Seen } from './judge.js'
import { baselineTally, rateOf, type Tally, total } from './table.js'
import type { ArmRate, JudgeContext, Metric, MetricPolicy, MetricReport, Policy } from './types.js'

/** The judgement of one metric, see {@link judgeMetric}. */
export interface MetricJudgement {
  readonly metric: Metric
  readonly report: MetricReport
  /** Set if the fast path found the canary worse: the highest rate that would have been tolerated. */
  readonly fastLimit?: number
  /** Differences above `failAbove` fail; differences below `passBelow` pass. */
  readonly failAbove: number
  readonly passBelow: number
  /** Whether any job of either arm counted. */
  readonly measured: boolean
  readonly comparison: Comparison | undefined
  /** Estimated stable rate, with half a bad job added. */
  readonly expectedRate: number
}

export function judgeMetric({ latest, rows }: Seen, metric: Metric, policy: Policy, context: JudgeContext): MetricJudgement {
  const stable = total(rows, 'stable', metric)
  const canary = total(rows, 'canary', metric)
  const baseline = baselineTally(context.baseline, metric)
  const rule = policy.metrics[metric]
  const comparison = compare(rows, metric)
  const known = { jobs: stable.jobs + baseline.jobs, bad: stable.bad + baseline.bad }
  const tolerance = toleranceAt(rule, rateOf(stable.jobs > 0 ? stable : known))
  const bounds = boundsOf(policy, tolerance)
  const halfWidth = comparison && sequentialHalfWidth(comparison.variance, 2 * tolerance, rule.alpha)
  const before = { baseline, recent: baselineTally(context.recent, metric) }
  const fastLimit = isTooEarly({ latest, rows }, metric, context.shares) ? undefined : fastLimitOf({ latest, rows }, before, metric, policy)
  const ready = canary.jobs >= policy.minJobs
  const verdict = fastLimit !== undefined ? 'FAIL' : ready ? sequentialVerdict(comparison?.difference, halfWidth, bounds) : 'CONTINUE'
  return {
    metric,
    report: {
      verdict,
      stable: armRate(stable),
      canary: armRate(canary),
      difference: comparison?.difference ?? null,
      halfWidth: halfWidth === undefined || !Number.isFinite(halfWidth) ? null : halfWidth,
      tolerance,
      score: scoreOf(comparison?.difference ?? 0, tolerance),
    },
    ...(fastLimit === undefined ? {} : { fastLimit }),
    ...bounds,
    measured: stable.jobs + canary.jobs > 0,
    comparison,
    expectedRate: (known.bad + 0.5) / (known.jobs + 1),
  }
}

/** Returns 100 for no difference, 50 for a difference equal to the tolerance, and 0 from twice the tolerance on. */
function scoreOf(difference: number, tolerance: number): number {
  return Math.min(100, Math.max(0, 100 * (1 - difference / (2 * tolerance))))
}

function toleranceAt({ tolerance }: MetricPolicy, stableRate: number): number {
  return Math.max(tolerance.absolute, tolerance.relative * stableRate)
}

/** Returns the difference at which the score equals `rollbackThreshold`, and the tolerance, below which the sequential test passes. */
function boundsOf({ rollbackThreshold }: Policy, tolerance: number): { failAbove: number; passBelow: number } {
  return { failAbove: 2 * tolerance * (1 - rollbackThreshold / 100), passBelow: tolerance }
}

/** Returns the highest rate that is tolerated if that of stable is at most `upper`. */
export function tolerated(upper: number, metric: Metric, policy: Policy): number {
  return upper + boundsOf(policy, toleranceAt(policy.metrics[metric], upper)).failAbove
}

/** Returns the limit that the canary exceeds with statistical confidence, or undefined. */
function fastLimitOf({ latest, rows }: Seen, before: Before, metric: Metric, policy: Policy): number | undefined {
  const rule = policy.metrics[metric]
  const canary = total(rows, 'canary', metric)
  if (rule.fastAlpha === undefined || canary.bad === 0) return undefined
  const { overall, meanwhile } = stableUppers({ latest, rows }, before, metric)
  const limit = Math.max(highestLimit(tolerated(overall, metric, policy)), tolerated(meanwhile, metric, policy))
  // Stable fails as much as a version can.
  if (limit >= 1) return undefined
  const dependence = designEffect(rows, metric)
  const evidence = logEvidenceAbove(canary.bad / dependence, canary.jobs / dependence, limit)
  return evidence >= -Math.log(rule.fastAlpha) ? limit : undefined
}

/** Caps the limit, so that a version that fails every job exceeds it unless stable does so at the same time. */
function highestLimit(limit: number): number {
  return Math.min(0.95, Math.max(1e-4, limit))
}

function sequentialVerdict(
  difference: number | undefined,
  halfWidth: number | undefined,
  { failAbove, passBelow }: { failAbove: number; passBelow: number },
): 'FAIL' | 'PASS' | 'CONTINUE' {
  if (difference === undefined || halfWidth === undefined) return 'CONTINUE'
  if (difference - halfWidth > 0 && difference > failAbove) return 'FAIL'
  return difference + halfWidth < passBelow ? 'PASS' : 'CONTINUE'
}

function armRate(tally: Tally): ArmRate {
  return { ...tally, rate: rateOf(tally) }
}
