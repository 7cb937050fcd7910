import { topErrors } from '../failures/error-counts.js'
import { type LatestByArm, latestSince, mostlyFailing } from './latest.js'
import { judgeMetric, type MetricJudgement } from './metric.js'
import { jobsToGo } from './needs.js'
import { outageOf } from './outage.js'
import { reasonOf } from './reasons.js'
import { sampleRatioFault } from './sample-ratio.js'
import { type Row, rowsOf } from './table.js'
import type { Arm, Evidence, JudgeContext, Judgement, Metric, Policy } from './types.js'

const metrics: readonly Metric[] = ['fail', 'lost', 'slow']

/**
 * Judges a canary by its evidence. Pure: the same evidence gives the same judgement. It may be called any number of times; the error
 * probabilities hold over all evaluations together.
 */
export function judge(evidence: Evidence, policy: Policy, context: JudgeContext): Judgement {
  const rows = rowsOf(evidence)
  const latest = latestSince(evidence, context.excused?.at)
  const judged = metrics.map((metric) => judgeMetric({ rows, latest }, metric, policy, context))
  const decision = decide(judged, { rows, latest }, policy, context)
  const open = decision.verdict === 'CONTINUE'
  const jobs = open ? jobsToGo(judged, policy, context) : 0
  const rate = context.canaryJobsPerMinute
  const minutes = jobs === null || (open && !(rate && rate > 0)) ? null : open ? jobs / (rate as number) : 0
  return {
    ...decision,
    health: healthOf(judged),
    metrics: Object.fromEntries(judged.map(({ metric, report }) => [metric, report])) as Judgement['metrics'],
    needs: { jobs, minutes },
    counts: { stable: countsOf(judged, 'stable'), canary: countsOf(judged, 'canary') },
    errors: topErrors(evidence.errors),
  }
}

/** The sums of the canary, and its latest attempts, without those from before an operator resumed it. */
export interface Seen {
  readonly rows: readonly Row[]
  readonly latest: LatestByArm
}

type Decision = Pick<Judgement, 'verdict' | 'rule' | 'metric' | 'reason'>

/** A worse canary fails even if its share is off, to be on the safe side. */
function decide(judged: readonly MetricJudgement[], { latest, rows }: Seen, policy: Policy, context: JudgeContext): Decision {
  const fast = judged.find(({ fastLimit }) => fastLimit !== undefined)
  if (fast) return { verdict: 'FAIL', rule: 'canary/fast-path', metric: fast.metric, reason: reasonOf.fast(fast, policy) }
  const failed = judged.find(({ report }) => report.verdict === 'FAIL')
  if (failed) return { verdict: 'FAIL', rule: 'canary/sequential', metric: failed.metric, reason: reasonOf.failed(failed) }
  const outage = outageOf({ rows, latest }, policy, context)
  if (outage) return { verdict: 'OUTAGE', rule: 'canary/outage', metric: outage.metric, reason: reasonOf.outage(outage) }
  const off = sampleRatioFault(rows, context.shares, policy.sampleRatioAlpha)
  if (off) return { verdict: 'SAMPLE_RATIO', rule: 'canary/sample-ratio', metric: null, reason: reasonOf.sampleRatio(off) }
  const failing = mostlyFailing(latest)
  if (failing) return { verdict: 'CONTINUE', rule: 'canary/failing', metric: 'fail', reason: reasonOf.failing(failing) }
  const { canary } = (judged[0] as MetricJudgement).report
  if (canary.jobs < policy.minJobs) {
    return { verdict: 'CONTINUE', rule: 'canary/no-data', metric: null, reason: reasonOf.noData(canary.jobs, policy.minJobs) }
  }
  const { successThreshold } = policy
  if (successThreshold !== undefined) {
    const health = healthOf(judged)
    const verdict = Math.round(health) >= successThreshold ? 'PASS' : 'CONTINUE'
    return { verdict, rule: 'canary/success-threshold', metric: null, reason: reasonOf.threshold(judged, health, successThreshold) }
  }
  const undecided = judged.find(({ report, measured }) => measured && report.verdict !== 'PASS')
  if (undecided) return { verdict: 'CONTINUE', rule: 'canary/sequential', metric: undecided.metric, reason: reasonOf.undecided(undecided) }
  return { verdict: 'PASS', rule: 'canary/sequential', metric: null, reason: reasonOf.passed(judged) }
}

function healthOf(judged: readonly MetricJudgement[]): number {
  return Math.min(...judged.map(({ report }) => report.score))
}

function countsOf(judged: readonly MetricJudgement[], arm: Arm): Judgement['counts'][Arm] {
  const of = (metric: Metric) => judged.find((each) => each.metric === metric)?.report[arm] ?? { jobs: 0, bad: 0 }
  return { jobs: of('fail').jobs, failed: of('fail').bad, slow: of('slow').bad, lost: of('lost').bad }
}
