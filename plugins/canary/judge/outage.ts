import { wilsonUpper } from 'zin/plugins/statistics'
import { exceeds, leastOutage } from './fast-path.js'
import type { Seen } from './judge.js'
import { sinceFailing } from './latest.js'
import { tolerated } from './metric.js'
import { baselineTally, type Row, rateOf, type Tally, total } from './table.js'
import type { Arm, Baseline, JudgeContext, Metric, Policy } from './types.js'

/** A share of bad jobs from which nothing can be said about a version, even if it is usual for the worker. */
const mostOutage = 0.5
/** Quantile of the normal distribution for the usual rate: 99 %. */
const surely = 2.3263

/** An outage of both versions. */
export interface Outage {
  readonly metric: Metric
  readonly canary: Tally
  readonly stable: Tally
  /** Whether the jobs are those since the canary began to fail, and not all. */
  readonly isLatest: boolean
}

/**
 * Returns the metric by which both versions are worse than stable was before, by more than is tolerated. Undefined if there is none, or the
 * evidence is too weak. Jobs from before an operator resumed the canary are left out, so that it is not paused for them again.
 */
export function outageOf({ latest, rows }: Seen, policy: Policy, context: JudgeContext): Outage | undefined {
  for (const metric of ['fail', 'lost'] as const) {
    const limit = limitOf(metric, policy, context)
    const canary = counted('canary', rows, metric, context)
    const stable = counted('stable', rows, metric, context)
    const recent = context.excused === undefined ? baselineTally(context.recent, metric) : { jobs: 0, bad: 0 }
    const both = { jobs: stable.jobs + recent.jobs, bad: stable.bad + recent.bad }
    const known = (stable.jobs === 0 || rateOf(stable) > limit) && exceeds(both, limit) ? both : stable
    if (exceeds(canary, limit) && exceeds(known, limit)) return { metric, canary, stable: known, isLatest: false }
    // Those from before an outage that begins would hide it.
    const now = sinceFailing(latest, metric)
    if (now !== undefined && exceeds(now.canary, limit) && exceeds(now.stable, limit)) return { metric, ...now, isLatest: true }
  }
  return undefined
}

function limitOf(metric: Metric, policy: Policy, { baseline, recent }: JudgeContext): number {
  const [all, last] = [baselineTally(baseline, metric), baselineTally(recent, metric)]
  const earlier = { jobs: Math.max(0, all.jobs - last.jobs), bad: Math.max(0, all.bad - last.bad) }
  // Those of an outage are not usual.
  const usual = rateOf(last) <= leastOutage ? all : earlier
  if (usual.jobs === 0) return mostOutage
  return Math.min(mostOutage, Math.max(leastOutage, tolerated(wilsonUpper(usual.bad, usual.jobs, surely), metric, policy)))
}

function counted(arm: Arm, rows: readonly Row[], metric: Metric, { excused }: JudgeContext): Tally {
  const { bad, jobs } = total(rows, arm, metric)
  const before: Baseline = excused?.[arm] ?? { jobs: 0, failed: 0, lost: 0 }
  const left = baselineTally(before, metric)
  return { jobs: Math.max(0, jobs - left.jobs), bad: Math.max(0, bad - left.bad) }
}
