import type { MetricJudgement } from './metric.js'
import type { Outage } from './outage.js'
import type { SampleRatio } from './sample-ratio.js'
import { rateOf, type Tally } from './table.js'
import type { ArmRate, Metric, Policy } from './types.js'

const verbs: Readonly<Record<Metric, string>> = { fail: 'failed', slow: 'were slow', lost: 'were lost' }

/** Loads the locale on first use rather than at every start, which it would prolong by 20 ms. */
const counted = (jobs: number): string => jobs.toLocaleString('en-GB')

/** Formats a ratio as a percentage with two significant digits: 0.0312 is `3.1 %`. */
export function percent(ratio: number): string {
  const value = 100 * ratio
  return `${Math.abs(value) >= 10 ? Math.round(value) : Number(value.toPrecision(2))} %`
}

const points = (ratio: number): string => percent(ratio).replace('%', 'percentage points')

function rates(metric: Metric, canary: ArmRate, stable: ArmRate): string {
  const canaryPart = `${counted(canary.bad)} of ${counted(canary.jobs)} canary jobs ${verbs[metric]} (${percent(canary.rate)})`
  return `${canaryPart} against ${percent(stable.rate)} of ${counted(stable.jobs)} stable jobs`
}

/** Texts by kind of verdict. */
export const reasonOf = {
  fast: ({ metric, report: { canary }, fastLimit }: MetricJudgement, policy: Policy): string => {
    const bad = `${counted(canary.bad)} of ${counted(canary.jobs)} canary jobs ${verbs[metric]} (${percent(canary.rate)})`
    const chance = percent(policy.metrics[metric].fastAlpha ?? 0)
    return `${bad}; at most ${percent(fastLimit ?? 0)} would be tolerated, and the probability that this is chance is below ${chance}`
  },
  failed: ({ metric, report }: MetricJudgement): string =>
    `${rates(metric, report.canary, report.stable)}: worse by ${points(report.difference ?? 0)} ± ${points(report.halfWidth ?? 0)}, and ${points(report.tolerance)} are tolerated`,
  sampleRatio: ({ canaryJobs, jobs, due }: SampleRatio): string =>
    `The canary ended ${counted(Math.round(canaryJobs))} of ${counted(jobs)} first attempts (${percent(canaryJobs / jobs)}) where ${percent(due / jobs)} were expected: jobs are routed incorrectly, or canary jobs hang`,
  noData: (jobs: number, minJobs: number): string =>
    jobs === 0 ? 'No canary job has ended yet' : `${counted(jobs)} of at least ${counted(minJobs)} canary jobs have ended`,
  undecided: ({ metric, report }: MetricJudgement): string => {
    if (report.difference === null) return `No canary job can be compared with stable jobs yet (${verbs[metric]})`
    if (report.halfWidth === null)
      return `${rates(metric, report.canary, report.stable)}; its jobs have too few different keys for a verdict`
    return `${rates(metric, report.canary, report.stable)}: the difference of ${points(report.difference)} ± ${points(report.halfWidth)} is not yet clear`
  },
  outage: ({ canary, isLatest, metric, stable }: Outage): string =>
    `Stable fails too: ${counted(canary.bad)} of ${isLatest ? 'the last ' : ''}${counted(canary.jobs)} canary jobs ${verbs[metric]} (${percent(rateOf(canary))}), and ${counted(stable.bad)} of ${counted(stable.jobs)} stable jobs (${percent(rateOf(stable))}); nothing can be said about the version until stable works`,
  failing: ({ bad, jobs }: Tally): string =>
    `${bad} of the last ${jobs} canary jobs failed: the version gets no more jobs while most of them fail, and it is not yet clear whether stable fails too`,
  threshold: (judged: readonly MetricJudgement[], health: number, threshold: number): string => {
    const isMet = Math.round(health) >= threshold
    return `${ratesOf(judged)}: health ${Math.round(health)} is ${isMet ? 'at least' : 'below'} the success threshold of ${threshold}`
  },
  passed: (judged: readonly MetricJudgement[]): string => `${ratesOf(judged)}: not worse by more than is tolerated`,
}

function ratesOf(judged: readonly MetricJudgement[]): string {
  const parts = judged
    .filter(({ measured }) => measured)
    .map(({ metric, report }) => `${percent(report.canary.rate)} ${verbs[metric]} against ${percent(report.stable.rate)}`)
  return `Of ${counted(judged[0]?.report.canary.jobs ?? 0)} canary jobs ${parts.join(', ')} of stable`
}
