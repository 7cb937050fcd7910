import { sequentialHalfWidth } from 'zin/plugins/statistics'
import type { MetricJudgement } from './metric.js'
import type { JudgeContext, Policy } from './types.js'

/** Forecasts above this number of jobs are unknown. */
const most = 1e9

/**
 * Estimates how many more first attempts of the canary a verdict needs: a FAIL if the observed difference is the true one and large enough,
 * else a PASS if there is no difference, or with a success threshold, once there are enough jobs. Null if unknown.
 */
export function jobsToGo(judged: readonly MetricJudgement[], policy: Policy, context: JudgeContext): number | null {
  const measured = judged.filter((each) => each.measured || each.metric === 'fail')
  const forFail = measured.map((each) => jobsUntil(each, each.report.difference ?? 0, each.failAbove, policy, context))
  const forPass = measured.map((each) => jobsUntil(each, each.passBelow, 0, policy, context))
  const done = judged[0]?.report.canary.jobs ?? 0
  const byThreshold = done < policy.minJobs ? policy.minJobs : most
  const total = Math.min(...forFail, policy.successThreshold === undefined ? Math.max(...forPass) : byThreshold)
  if (total >= most) return null
  return Math.max(1, Math.ceil(Math.max(policy.minJobs, total) - done))
}

/** Returns the canary jobs needed until the half-width is below `gap`; unlimited for a gap not above `atLeast`. */
function jobsUntil(each: MetricJudgement, gap: number, atLeast: number, policy: Policy, { shares }: JudgeContext): number {
  if (gap <= atLeast) return most
  const { comparison, report, metric } = each
  // Ratio of the variance between buckets to that of independent jobs.
  const excess = comparison ? Math.max(1, comparison.variance / comparison.binomialVariance) : 1
  if (!Number.isFinite(excess) && report.canary.jobs >= policy.minJobs) return most
  const share = Math.min(0.95, shares.at(-1) ?? 0)
  const width = (jobs: number): number => {
    const rate = (each.expectedRate * jobs + 0.5) / (jobs + 1)
    const variance = ((rate * (1 - rate)) / jobs / (1 - share)) * (Number.isFinite(excess) ? excess : 1)
    return sequentialHalfWidth(variance, 2 * report.tolerance, policy.metrics[metric].alpha)
  }
  let [low, high] = [1, most]
  if (width(high) >= gap) return most
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high)
    if (width(middle) < gap) high = middle
    else low = middle
  }
  return high
}
