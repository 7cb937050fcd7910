import type { PastEvaluation, ScalingPolicy, Signals } from './recommend.js'

export interface Load {
  /** New jobs per second. */
  readonly arrivals: number
  /** Mean run time as far as it is known; running jobs count with the time that they have run. */
  readonly runSeconds: number
  /** Whether jobs run longer than attempts are counted: then the jobs that exist are the load. */
  readonly isLong: boolean
  readonly workers: number
}

/**
 * Returns the workers needed for arriving jobs (Little's law, with headroom for bursts), for the running ones, and for the backlog within
 * its time.
 */
export function loadOf(signals: Signals, policy: ScalingPolicy, history: readonly PastEvaluation[]): Load {
  const { activeSeconds, attempts, at, backlog, concurrency, nodes, windowSeconds } = signals
  const active = signals.active ?? 0
  const worked = attempts * signals.runSeconds + activeSeconds
  const known = attempts > 0 ? signals.runSeconds : (history.at(-1)?.runSeconds ?? 0)
  const runSeconds = Math.max(known, attempts + active > 0 ? worked / (attempts + active) : 0)
  const before = history.find((past) => past.at >= at - windowSeconds * 1000 && past.at < at)
  const growth = before === undefined ? 0 : (backlog - before.backlog) / ((at - before.at) / 1000)
  const arrivals = Math.max(0, attempts / windowSeconds + growth)
  const isLong = runSeconds >= windowSeconds
  const slots = isLong
    ? active + backlog
    : Math.max(Math.ceil((arrivals * runSeconds) / policy.utilization), Math.ceil(worked / windowSeconds)) +
      Math.min(backlog, Math.ceil((backlog * runSeconds) / policy.drainSeconds))
  const workers = Math.max(1, Math.ceil(slots / concurrency))
  return { arrivals, runSeconds, isLong, workers: policy.spare ? Math.ceil((workers * (nodes + 1)) / Math.max(1, nodes)) : workers }
}

export function loadText(
  { arrivals, isLong, runSeconds, workers: needed }: Load,
  { active, backlog }: Signals,
  maxWorkers: number,
): string {
  if (runSeconds === 0) return 'the run time of jobs is not known yet'
  const capped = needed > maxWorkers ? `, and at most ${maxWorkers} may run` : ''
  const jobs = isLong ? `${active ?? 0} running ${active === 1 ? 'job' : 'jobs'}` : `${Number(arrivals.toFixed(1))} new jobs/s`
  return `${jobs}${backlog > 0 ? ' and the backlog' : ''}, at ${seconds(runSeconds)} per job, need ${workers(needed)}${capped}`
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} s`
}

export const workers = (count: number): string => `${count} ${count === 1 ? 'worker' : 'workers'}`
