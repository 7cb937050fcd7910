import { sequentialHalfWidth } from 'zin/plugins/statistics'
import type { MetricJudgement } from './metric.js'
import type { JudgeContext, Policy } from './types.js'

/** Beyond this many jobs there is no forecast. */
const most = 1e9

/**
 * First attempts of the canary still to go for a verdict: for a FAIL, if the difference seen so far is the true one and large enough, or
 * else for a PASS, if there is no difference. Null when unknown.
 */
export function jobsToGo(judged: readonly MetricJudgement[], policy: Policy, context: JudgeContext): number | null {
  const measured = judged.filter((each) => each.measured || each.metric === 'fail')
  const forFail = measured.map((each) => jobsUntil(each, each.report.difference ?? 0, each.failAbove, policy, context))
  const forPass = measured.map((each) => jobsUntil(each, each.passBelow, 0, policy, context))
  const total = Math.min(...forFail, Math.max(...forPass))
  if (total >= most) return null
  const done = judged[0]?.report.canary.jobs ?? 0
  return Math.max(1, Math.ceil(Math.max(policy.minJobs, total) - done))
}

/** Jobs of the canary until the half width is below `gap`; none are enough for a gap that is not above `atLeast`. */
function jobsUntil(each: MetricJudgement, gap: number, atLeast: number, policy: Policy, { shares }: JudgeContext): number {
  if (gap <= atLeast) return most
  const { comparison, report, metric } = each
  // How much more the buckets vary than independent jobs would.
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
