import { loadOf, loadText, seconds, workers } from './load.js'
import { type Keep, keepFor, type LongestRun, longestRun, type RunningJobs } from './running.js'

/** The load of a worker at one evaluation. */
export interface Signals extends RunningJobs {
  /** ms since 1970. */
  readonly at: number
  /** Attempts that ended in the last `windowSeconds`; `runSeconds` is their mean run time, 0 if none ended. */
  readonly attempts: number
  readonly windowSeconds: number
  readonly runSeconds: number
  /** Longest of these run times, rounded up; null if none ended. */
  readonly longestSeconds: number | null
  /** Jobs that are ready to run. */
  readonly backlog: number
  /** Total time that the running jobs have run within the window. */
  readonly activeSeconds: number
  /** How long the oldest ready job has waited; 0 if none waits, null if it could not be read. */
  readonly queueAgeSeconds: number | null
  /** Parallel jobs of one worker, as configured. */
  readonly concurrency: number
  /** Current capacity in workers: 1.5 with three processes of half the concurrency. */
  readonly current: number
  /** Processes that can run the worker. */
  readonly nodes: number
  /** Whether a version runs alongside the active one. */
  readonly canary: boolean
}

export interface ScalingLimits {
  readonly minWorkers: number
  readonly maxWorkers: number
  /** Jobs in the queue above which a worker is added immediately. */
  readonly scaleUpThreshold: number
  /** Jobs in the queue up to which workers are removed. */
  readonly scaleDownThreshold: number
}

export interface ScalingPolicy {
  /** Target utilization. */
  readonly utilization: number
  /** Time within which a backlog should be processed, and the maximum wait of a job. */
  readonly drainSeconds: number
  /** Workers are removed only down to the highest recommendation within this time. */
  readonly stabilizationSeconds: number
  /** Whether to keep enough workers for the loss of one process. */
  readonly spare: boolean
  /** How long a process may go on with its jobs after the platform has told it to end. */
  readonly graceSeconds: number
}

/** What was decided at an earlier evaluation, also by another leader. */
export interface Known {
  /** Workers that the platform was asked for and has not removed yet. */
  readonly asked: number
  readonly desired: number
  readonly target: number
  readonly nodes: number
  readonly longest: LongestRun | null
}

/** An earlier evaluation; histories are sorted oldest first. */
export interface PastEvaluation extends Known {
  readonly at: number
  readonly backlog: number
  /** Last known mean run time. */
  readonly runSeconds: number
  /** Workers needed for the load at that time, within the limits. */
  readonly needed: number
}

export type ScalingRule = 'load' | 'backlog' | 'queue-age' | 'limits' | 'steady' | 'stabilization' | 'canary' | 'running'

export interface Recommendation extends Known {
  /** Workers that the processes should provide, by their concurrency. Running jobs continue when it falls. */
  readonly target: number
  /** Workers that the platform should run: at least the target, and never so few that it would end a running job. */
  readonly desired: number
  /** Desired number while jobs run that could outlast the end of their process. */
  readonly present: number
  /** Workers needed for the load alone, within the limits. */
  readonly needed: number
  readonly runSeconds: number
  readonly rule: ScalingRule
  /** The reason with its numbers, as one sentence. */
  readonly reason: string
}

/** Smaller relative changes are not made. */
const tolerance = 0.1
/** Limits of one evaluation: largest factor when adding, and largest share when removing. */
const largestRise = 2
const largestFall = 0.25

/**
 * Recommends a number of workers, with the reason. Pure: the same input gives the same recommendation.
 *
 * @param known Default: that of the last evaluation.
 */
export function recommend(
  signals: Signals,
  limits: ScalingLimits,
  policy: ScalingPolicy,
  history: readonly PastEvaluation[],
  known: Known | undefined = history.at(-1),
): Recommendation {
  const load = loadOf(signals, policy, history)
  const needed = within(limits, load.workers)
  const { at, concurrency, longestSeconds, nodes, oldestSeconds } = signals
  const seen = longestSeconds === null && oldestSeconds <= policy.graceSeconds ? null : Math.max(longestSeconds ?? 0, oldestSeconds)
  const longest = longestRun(known?.longest ?? null, seen, at)
  // Processes that the platform was asked for may still be starting, or waiting for their end.
  const before = Math.max(Math.min(nodes, known?.asked ?? nodes), ...history.map((past) => past.desired))
  const present = Math.max(1, known?.desired ?? 1, Math.min(nodes, before))
  const keep = keepFor({ running: signals, longest, concurrency, present, graceSeconds: policy.graceSeconds })
  const found = targetOf({
    signals: { ...signals, current: wantedNow(signals, known) },
    limits,
    policy,
    history,
    needed,
    loaded: loadText(load, signals, limits.maxWorkers),
    keep,
  })
  // While the target goes down to a lower limit, no process is added for it.
  const desired = Math.max(Math.min(found.target, Math.max(limits.maxWorkers, nodes)), keep.workers)
  return {
    ...found,
    reason: desired > found.target ? `${found.reason}; ${keep.reason}` : found.reason,
    desired,
    present,
    asked: Math.max(desired, before),
    longest,
    nodes,
    needed,
    runSeconds: load.runSeconds,
  }
}

/**
 * Returns the capacity that is wanted now. Processes that joined because of an earlier recommendation take over from those that run more
 * jobs than configured; they do not multiply them.
 */
function wantedNow({ current, nodes }: Signals, known: Known | undefined): number {
  return known !== undefined && nodes > known.nodes ? Math.min(current, Math.max(known.target, nodes)) : current
}

interface TargetInput {
  readonly signals: Signals
  readonly limits: ScalingLimits
  readonly policy: ScalingPolicy
  readonly history: readonly PastEvaluation[]
  readonly needed: number
  /** The load as text. */
  readonly loaded: string
  readonly keep: Keep
}

function targetOf(input: TargetInput): Pick<Recommendation, 'target' | 'rule' | 'reason'> {
  const { history, keep, limits, loaded, needed, policy, signals } = input
  const { active, backlog, canary, concurrency, current, queueAgeSeconds } = signals
  const age = backlog > 0 ? queueAgeSeconds : null
  const { maxWorkers, minWorkers, scaleDownThreshold, scaleUpThreshold } = limits
  const now = Math.max(1, Math.round(current))
  const seen = (limit = '') => `${waiting(backlog)}${limit}${age === null ? '' : `, the oldest for ${seconds(age)}`}`
  const decide = (target: number, rule: ScalingRule, reason: string) => ({ target, rule, reason })

  const urgent: ScalingRule | undefined =
    backlog > scaleUpThreshold ? 'backlog' : age !== null && age > policy.drainSeconds ? 'queue-age' : undefined
  const wanted = urgent === undefined ? needed : within(limits, Math.max(needed, Math.floor(current) + 1))

  if (current < minWorkers)
    return decide(Math.max(minWorkers, Math.min(wanted, now * largestRise)), 'limits', `At least ${workers(minWorkers)} should run`)
  if (wanted > current) {
    const target = Math.max(Math.min(wanted, Math.ceil(current * largestRise)), Math.floor(current) + 1)
    if (urgent === 'backlog') return decide(target, urgent, `${seen(` (more than ${scaleUpThreshold})`)}; ${loaded}`)
    if (urgent === 'queue-age') return decide(target, urgent, `${seen()} (longer than ${seconds(policy.drainSeconds)}); ${loaded}`)
    if (wanted - current > tolerance * current) return decide(target, 'load', `${seen()}; ${loaded}`)
  }
  const lowest = Math.max(within(limits, 1), Math.ceil(current) - Math.max(1, Math.floor(current * largestFall)))
  if (current > maxWorkers) {
    if (active === null) return decide(now, 'running', `At most ${workers(maxWorkers)} may run now, but ${keep.reason}`)
    if (canary) return decide(now, 'canary', `A canary runs, so no workers are removed although at most ${workers(maxWorkers)} may run`)
    return decide(Math.max(maxWorkers, lowest), 'limits', `At most ${workers(maxWorkers)} may run now`)
  }
  if (needed < current && current - needed > tolerance * current && urgent === undefined) {
    if (backlog > scaleDownThreshold)
      return decide(now, 'steady', `${seen(` (more than ${scaleDownThreshold})`)}, so no workers are removed; ${loaded}`)
    const busy = active === null ? now : Math.ceil(active / concurrency)
    if (busy >= now) return decide(now, 'running', `${seen()}; ${loaded}, but ${keep.reason}`)
    const highest = highestRecent(signals.at, needed, policy.stabilizationSeconds, history)
    if (highest === undefined || highest >= now) {
      const why = highest === undefined ? 'the need is not known for' : `${workers(highest)} were needed within`
      return decide(now, 'stabilization', `${loaded}, but ${why} the last ${seconds(policy.stabilizationSeconds)}`)
    }
    if (canary) return decide(now, 'canary', `A canary runs, so no workers are removed; ${loaded}`)
    return decide(
      Math.max(highest, lowest, busy),
      'load',
      `${seen()}; ${loaded}, and no more were needed in the last ${seconds(policy.stabilizationSeconds)}`,
    )
  }
  return decide(within(limits, now), 'steady', `${seen()}; ${loaded}`)
}

function within({ maxWorkers, minWorkers }: ScalingLimits, workers: number): number {
  return Math.min(maxWorkers, Math.max(minWorkers, workers))
}

/** Evaluations are kept this much longer than needed. */
const slackMs = 60_000

/** Returns the history with a new evaluation, without entries that are no longer needed. */
export function remember(
  history: readonly PastEvaluation[],
  { at, backlog, windowSeconds }: Signals,
  { asked, desired, longest, needed, nodes, runSeconds, target }: Recommendation,
  { stabilizationSeconds }: ScalingPolicy,
): readonly PastEvaluation[] {
  const since = at - Math.max(stabilizationSeconds, windowSeconds) * 1000 - slackMs
  return [...history.filter((past) => past.at >= since), { at, backlog, runSeconds, needed, asked, desired, target, nodes, longest }]
}

/** Returns the highest need within the span; undefined if the history does not cover it. */
function highestRecent(at: number, needed: number, spanSeconds: number, history: readonly PastEvaluation[]): number | undefined {
  const since = at - spanSeconds * 1000
  const known = history.some((past) => past.at <= since)
  if (!known && spanSeconds > 0) return undefined
  return Math.max(needed, ...history.filter((past) => past.at > since).map((past) => past.needed))
}

const waiting = (count: number): string => (count === 0 ? 'No job is waiting' : `${count} ${count === 1 ? 'job is' : 'jobs are'} waiting`)
