import type { WorkerState } from '../types.js'

/** What a worker should do, from its stored desired state. */
export interface Goal {
  readonly id: string
  readonly run: boolean
  readonly generation: number
  readonly restarts: number
}

/** What this process last did for a worker. */
export interface Seen {
  readonly id: string
  readonly state: WorkerState
  readonly generation: number
  readonly restarts: number
}

export type Step = 'none' | 'start' | 'stop' | 'restart'

/**
 * The step that takes a process from what it does to what it should do. A generation is applied once: a worker that
 * FAILED waits for the next one, and news that is older than what was applied changes nothing.
 */
export function plan(goal: Goal, seen: Seen | undefined): Step {
  const running = seen?.state === 'running'
  const same = seen?.id === goal.id
  if (same && seen.generation >= goal.generation) return 'none'
  if (!goal.run) return running || seen?.state === 'FAILED' ? 'stop' : 'none'
  if (!running) return 'start'
  return same && seen.restarts === goal.restarts ? 'none' : 'restart'
}
