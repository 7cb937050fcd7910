import type { WorkerState } from '../shared/contract.js'

/** What one process should do for a worker right now. */
export interface Goal {
  readonly generation: number
  readonly run: boolean
  readonly paused: boolean
  readonly starts: number
  readonly restarts: number
  readonly version: string
  /** Differs for each activation of a version. */
  readonly activation: string
  readonly concurrency: number
  /** Equal for records whose consumer would be the same one. */
  readonly consumerKey: string
}

/** What one process last did for a worker. */
export interface Seen extends Goal {
  readonly state: WorkerState
  /** The last start failed or was denied: the plan waits for a start, a restart or an activation. */
  readonly gaveUp: boolean
  /** The activation whose version cannot run here. */
  readonly refused?: string
}

/** A start leaves what should be paused so. */
export type Step = 'stop' | 'start' | 'switch' | 'resize' | 'pause' | 'resume'

const holdsConsumer: Readonly<Record<WorkerState, boolean>> = {
  stopped: false,
  starting: false,
  FAILED: false,
  unknown: false,
  running: true,
  paused: true,
  stopping: true,
}

/**
 * The steps that take a process from what it does to what it should do; none when that is the same. News that is older than what
 * was applied changes nothing, and a worker that FAILED waits for a start, a restart or an activation.
 */
export function plan(goal: Goal, seen: Seen | undefined): readonly Step[] {
  if (seen !== undefined && goal.generation < seen.generation) return []
  const holds = seen !== undefined && holdsConsumer[seen.state]
  if (!goal.run) return holds || seen?.state === 'FAILED' || seen?.state === 'starting' ? ['stop'] : []
  if (!holds) return seen?.gaveUp === true && !asksAnew(goal, seen) ? [] : ['start']
  if (seen.restarts !== goal.restarts || seen.consumerKey !== goal.consumerKey) return ['stop', 'start']
  return [
    ...(seen.version !== goal.version && seen.refused !== goal.activation ? (['switch'] as const) : []),
    ...(seen.concurrency !== goal.concurrency ? (['resize'] as const) : []),
    ...(seen.paused !== goal.paused ? ([goal.paused ? 'pause' : 'resume'] as const) : []),
  ]
}

/** Whether somebody asked for another start. */
function asksAnew(goal: Goal, seen: Goal): boolean {
  return seen.starts !== goal.starts || seen.restarts !== goal.restarts || seen.activation !== goal.activation
}
