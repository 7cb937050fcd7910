/** The load of a worker at one evaluation. */
export interface Signals {
  /** ms since 1970. */
  readonly at: number
  /** Attempts that ended in the last `windowSeconds`; `runSeconds` is their mean run time, 0 if none ended. */
  readonly attempts: number
  readonly windowSeconds: number
  readonly runSeconds: number
  /** Jobs that are ready to run. */
  readonly backlog: number
  /** Running jobs. */
  readonly active: number
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
}

/** An earlier evaluation; histories are sorted oldest first. */
export interface PastEvaluation {
  readonly at: number
  readonly backlog: number
  /** Last known mean run time. */
  readonly runSeconds: number
  /** Workers needed for the load at that time, within the limits. */
  readonly needed: number
}

export type ScalingRule = 'load' | 'backlog' | 'queue-age' | 'limits' | 'steady' | 'stabilization' | 'canary'

export interface Recommendation {
  /** Desired number of workers, within the limits. */
  readonly desired: number
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

/** Recommends a number of workers, with the reason. Pure: the same input gives the same recommendation. */
export function recommend(
  signals: Signals,
  limits: ScalingLimits,
  policy: ScalingPolicy,
  history: readonly PastEvaluation[],
): Recommendation {
  const { backlog, canary, current, queueAgeSeconds } = signals
  const age = backlog > 0 ? queueAgeSeconds : null
  const { maxWorkers, minWorkers, scaleDownThreshold, scaleUpThreshold } = limits
  const within = (workers: number): number => Math.min(maxWorkers, Math.max(minWorkers, workers))
  const now = Math.max(1, Math.round(current))
  const load = loadOf(signals, policy, history)
  const needed = within(load.workers)
  const seen = (limit = '') => `${waiting(backlog)}${limit}${age === null ? '' : `, the oldest for ${seconds(age)}`}`
  const loaded = loadText(load, backlog, maxWorkers)
  const decide = (desired: number, rule: ScalingRule, reason: string): Recommendation => ({
    desired,
    needed,
    runSeconds: load.runSeconds,
    rule,
    reason,
  })

  const urgent: ScalingRule | undefined =
    backlog > scaleUpThreshold ? 'backlog' : age !== null && age > policy.drainSeconds ? 'queue-age' : undefined
  const wanted = urgent === undefined ? needed : within(Math.max(needed, Math.floor(current) + 1))

  if (current < minWorkers)
    return decide(Math.max(minWorkers, Math.min(wanted, now * largestRise)), 'limits', `At least ${workers(minWorkers)} should run`)
  if (wanted > current) {
    const desired = Math.max(Math.min(wanted, Math.ceil(current * largestRise)), Math.floor(current) + 1)
    if (urgent === 'backlog') return decide(desired, urgent, `${seen(` (more than ${scaleUpThreshold})`)}; ${loaded}`)
    if (urgent === 'queue-age') return decide(desired, urgent, `${seen()} (longer than ${seconds(policy.drainSeconds)}); ${loaded}`)
    if (wanted - current > tolerance * current) return decide(desired, 'load', `${seen()}; ${loaded}`)
  }
  const lowest = Math.max(within(1), Math.ceil(current) - Math.max(1, Math.floor(current * largestFall)))
  if (current > maxWorkers) {
    if (canary) return decide(now, 'canary', `A canary runs, so no workers are removed although at most ${workers(maxWorkers)} may run`)
    return decide(Math.max(maxWorkers, lowest), 'limits', `At most ${workers(maxWorkers)} may run now`)
  }
  if (needed < current && current - needed > tolerance * current && urgent === undefined) {
    if (backlog > scaleDownThreshold)
      return decide(now, 'steady', `${seen(` (more than ${scaleDownThreshold})`)}, so no workers are removed; ${loaded}`)
    const highest = highestRecent(signals.at, needed, policy.stabilizationSeconds, history)
    if (highest === undefined || highest >= now) {
      const why = highest === undefined ? 'the need is not known for' : `${workers(highest)} were needed within`
      return decide(now, 'stabilization', `${loaded}, but ${why} the last ${seconds(policy.stabilizationSeconds)}`)
    }
    if (canary) return decide(now, 'canary', `A canary runs, so no workers are removed; ${loaded}`)
    return decide(
      Math.max(highest, lowest),
      'load',
      `${seen()}; ${loaded}, and no more were needed in the last ${seconds(policy.stabilizationSeconds)}`,
    )
  }
  return decide(within(now), 'steady', `${seen()}; ${loaded}`)
}

/** Evaluations are kept this much longer than needed. */
const slackMs = 60_000

/** Returns the history with a new evaluation, without entries that are no longer needed. */
export function remember(
  history: readonly PastEvaluation[],
  { at, backlog, windowSeconds }: Signals,
  { needed, runSeconds }: Recommendation,
  { stabilizationSeconds }: ScalingPolicy,
): readonly PastEvaluation[] {
  const since = at - Math.max(stabilizationSeconds, windowSeconds) * 1000 - slackMs
  return [...history.filter((past) => past.at >= since), { at, backlog, runSeconds, needed }]
}

interface Load {
  readonly arrivals: number
  readonly runSeconds: number
  readonly workers: number
}

/** Returns the workers needed for arriving jobs, and for the backlog within its time (Little's law, with headroom for bursts). */
function loadOf(signals: Signals, policy: ScalingPolicy, history: readonly PastEvaluation[]): Load {
  const { attempts, at, backlog, concurrency, nodes, windowSeconds } = signals
  const runSeconds = attempts > 0 ? signals.runSeconds : (history.at(-1)?.runSeconds ?? 0)
  const before = history.find((past) => past.at >= at - windowSeconds * 1000 && past.at < at)
  const growth = before === undefined ? 0 : (backlog - before.backlog) / ((at - before.at) / 1000)
  const arrivals = Math.max(0, attempts / windowSeconds + growth)
  const slots = Math.ceil((arrivals * runSeconds) / policy.utilization) + Math.ceil((backlog * runSeconds) / policy.drainSeconds)
  const workers = Math.max(1, Math.ceil(slots / concurrency))
  return { arrivals, runSeconds, workers: policy.spare ? Math.ceil((workers * (nodes + 1)) / Math.max(1, nodes)) : workers }
}

/** Returns the highest need within the span; undefined if the history does not cover it. */
function highestRecent(at: number, needed: number, spanSeconds: number, history: readonly PastEvaluation[]): number | undefined {
  const since = at - spanSeconds * 1000
  const known = history.some((past) => past.at <= since)
  if (!known && spanSeconds > 0) return undefined
  return Math.max(needed, ...history.filter((past) => past.at > since).map((past) => past.needed))
}

function loadText({ arrivals, runSeconds, workers: needed }: Load, backlog: number, maxWorkers: number): string {
  if (runSeconds === 0) return 'the run time of jobs is not known yet'
  const capped = needed > maxWorkers ? `, and at most ${maxWorkers} may run` : ''
  const load = `${Number(arrivals.toFixed(1))} new jobs/s${backlog > 0 ? ' and the backlog' : ''}`
  return `${load}, at ${seconds(runSeconds)} per job, need ${workers(needed)}${capped}`
}

function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} s`
}

const waiting = (count: number): string => (count === 0 ? 'No job is waiting' : `${count} ${count === 1 ? 'job is' : 'jobs are'} waiting`)
const workers = (count: number): string => `${count} ${count === 1 ? 'worker' : 'workers'}`
