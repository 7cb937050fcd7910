import { baselineTally, type Tally } from './table.js'
import type { Arm, Evidence, FirstAttempt, Latest, Metric } from './types.js'

/** Attempts of each version that are kept. */
export const mostLatest = 64

/** Of the latest canary jobs, this many say whether most of them fail. */
const lastJobs = 10
const leastJobs = 5

/** Weight of a good job against that of a bad one: a run of bad jobs is one in which more than a fifth are bad. */
const goodWeight = 0.25
/** Probability that no stable job ends by chance while the canary waits for one. */
const chanceOfNone = 0.001
const longestWait = 10

const codes: Readonly<Record<FirstAttempt['outcome'], Latest[1]>> = { ok: 0, failed: 1, lost: 2 }

export type LatestByArm = Readonly<Record<Arm, readonly Latest[]>>

/** Adds an attempt, in place. */
export function addLatest(evidence: Evidence, { arm, at, outcome }: FirstAttempt): void {
  if (at === undefined) return
  evidence.latest ??= { stable: [], canary: [] }
  keepLatest(evidence.latest[arm], [[at, codes[outcome]]])
}

/** Adds those of another process, in place. */
export function mergeLatest(evidence: Evidence, more: Evidence): void {
  if (more.latest === undefined) return
  evidence.latest ??= { stable: [], canary: [] }
  for (const arm of ['stable', 'canary'] as const) keepLatest(evidence.latest[arm], more.latest[arm])
}

/** Inserts into a sorted list, from its end: an attempt has mostly ended last, and this runs for each job. */
function keepLatest(list: Latest[], more: readonly Latest[]): void {
  for (const one of more) {
    let at = list.length
    for (let last = list[at - 1]; last !== undefined && isLater(last, one); last = list[at - 1]) at--
    if (at === list.length) list.push(one)
    else list.splice(at, 0, one)
    if (list.length > mostLatest) list.shift()
  }
}

function isLater(a: Latest, b: Latest): boolean {
  return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
}

/** Returns the attempts that ended after `since`, in ms since 1970; oldest first. */
export function latestSince({ latest }: Evidence, since = 0): LatestByArm {
  const of = (arm: Arm): readonly Latest[] => latest?.[arm].filter(([at]) => at > since) ?? []
  return { stable: of('stable'), canary: of('canary') }
}

/**
 * Returns the jobs of both versions since the canary began to fail, so that good ones from before do not hide what happens now. Undefined
 * while it does not fail.
 */
export function sinceFailing({ canary, stable }: LatestByArm, metric: Metric): Readonly<Record<Arm, Tally>> | undefined {
  let worst = 0
  let sum = 0
  let onset: number | undefined
  for (const [at, outcome] of canary.toReversed()) {
    sum += isBad(outcome, metric) ? 1 : -goodWeight
    if (sum <= worst) continue
    worst = sum
    onset = at
  }
  if (onset === undefined) return undefined
  const since = onset
  const of = (list: readonly Latest[]): Tally =>
    tallyOf(
      list.filter(([at]) => at >= since).map(([, outcome]) => outcome),
      metric,
    )
  return { canary: of(canary), stable: of(stable) }
}

/** Returns the last canary jobs if most of them failed or were lost. */
export function mostlyFailing({ canary }: LatestByArm): Tally | undefined {
  const last = canary.slice(-lastJobs)
  const bad = last.filter(([, outcome]) => outcome !== 0).length
  return last.length >= leastJobs && bad > last.length / 2 ? { jobs: last.length, bad } : undefined
}

/**
 * Returns how many canary jobs may fail before a stable job has ended: until then, both versions may be failing for the same reason.
 *
 * @param share of the jobs that the canary gets, 0 to 1.
 */
export function patience(share: number): number {
  if (!(share < 1)) return 0
  return Math.min(longestWait, Math.ceil(Math.log(chanceOfNone) / Math.log(Math.max(share, chanceOfNone))))
}

function tallyOf(outcomes: readonly Latest[1][], metric: Metric): Tally {
  const count = (code: Latest[1]): number => outcomes.filter((outcome) => outcome === code).length
  return baselineTally({ jobs: outcomes.length, failed: count(1), lost: count(2) }, metric)
}

function isBad(outcome: Latest[1], metric: Metric): boolean {
  return outcome === (metric === 'fail' ? 1 : metric === 'lost' ? 2 : -1)
}
