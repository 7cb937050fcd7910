// Texts about a canary. Pure.
import type { CanaryView, PauseReason } from 'zin/plugins/canary'
import { exact, plural } from '../../format.js'

type Metric = keyof CanaryView['evidence']['metrics']

export const metricNames: Readonly<Record<Metric, string>> = { fail: 'Failures', slow: 'Slow jobs', lost: 'Lost jobs' }

export const pauseReasons: Readonly<Record<PauseReason, string>> = {
  manual: 'It was paused manually. It keeps its share of the jobs until it is resumed.',
  inconclusive: 'There is no verdict. Promote it, roll it back, or resume it to wait for more jobs.',
  gate: 'This step requires manual approval. Resume to move to the next step.',
  'nodes-missing': 'A node cannot load the version. See the nodes below. Roll back, or resume once the node can load it.',
  'regression-observed': 'It is worse, and automatic rollback is off. Roll it back unless you know the cause.',
  'sample-ratio': 'It did not receive its share of the jobs, so its numbers are not reliable.',
  'awaiting-completion': 'It passed. Complete it to send it all jobs.',
}

const ended: readonly CanaryView['state'][] = ['SUCCEEDED', 'ROLLED_BACK', 'FAILED_TO_START']

export function isLive({ state }: CanaryView): boolean {
  return !ended.includes(state)
}

/** A share in percentage points: `1.2`. */
export function points(share: number): string {
  const value = Math.round(share * 1000) / 10
  return `${value === 0 ? '0' : value.toFixed(1).replace('-', '−')}`
}

/** `0.8 to 2.1 points more failures; limit 1.0`. */
export function sentenceOf(metric: Metric, report: CanaryView['evidence']['metrics']['fail']): string {
  const { difference, halfWidth, tolerance } = report
  const what = metricNames[metric].toLowerCase()
  if (difference === null || halfWidth === null) return `limit ${points(tolerance)} points more ${what}`
  const [low, high] = [difference - halfWidth, difference + halfWidth]
  const limit = `limit ${points(tolerance)}`
  if (high < 0) return `${points(-high)} to ${points(-low)} points fewer ${what}; ${limit}`
  if (low >= 0) return `${points(low)} to ${points(high)} points more ${what}; ${limit}`
  return `between ${points(-low)} points fewer and ${points(high)} more ${what}; ${limit}`
}

export function needsOf({ needs: { jobs, minutes } }: CanaryView): string {
  if (jobs === null) return 'The number of jobs needed for a verdict is not known yet.'
  const time = minutes === null ? '' : minutes < 1 ? ', less than a minute' : `, ${exact(Math.ceil(minutes))} min at this rate`
  return `About ${plural(jobs, 'more canary job')} until a verdict${time}.`
}
