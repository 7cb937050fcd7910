import type { ReportedStatus } from '../cluster/cluster.js'
import type { StoredWorker } from '../store/store.js'

/**
 * Whether a process gives new jobs to the wanted version. `due`: it does. `awaited`: others do so first. `halted`: one before it could
 * not, so its turn does not come until a version is activated anew.
 */
export type Turn = 'due' | 'awaited' | 'halted'

/**
 * A new version is rolled out one process after another in the order of the placement, with no leader: a process that runs the
 * version before takes its turn when every process ahead of it runs the new one, or nothing. One that could not take it stops the
 * rollout there; activating any version, also this one, begins anew.
 *
 * @param current what this process runs now; undefined when it runs nothing, and then it begins with the new one.
 */
export function turnOf(
  worker: StoredWorker,
  me: string,
  current: string | undefined,
  order: readonly string[],
  statuses: readonly ReportedStatus[],
): Turn {
  const { version } = worker.desired
  if (current === undefined || current === version) return 'due'
  const ahead = order.slice(0, Math.max(0, order.indexOf(me)))
  const told = statuses.filter((status) => ahead.includes(status.node) && status.alive && status.workerId === worker.id)
  const behind = told.filter((status) => status.version !== version && status.version !== null)
  if (told.length === ahead.length && behind.length === 0) return 'due'
  return behind.some((status) => status.error !== undefined && status.generation >= worker.generation) ? 'halted' : 'awaited'
}

/** An activation that this process has not come to, and the generation that asked for it. */
export interface Held {
  readonly activation: string
  readonly generation: number
}

/** What is held back from now on; nothing when it is the process's turn. */
export function heldOf(goal: Held, turn: Turn, before: Held | undefined): Held | undefined {
  if (turn === 'due') return undefined
  return before?.activation === goal.activation ? before : { activation: goal.activation, generation: goal.generation }
}

/** Whether a generation does not count as applied: none from the activation on while the rollout goes on, and only that one when it has halted. */
export function isHeldBack(generation: number, turn: Turn, held: Held | undefined): boolean {
  return held !== undefined && (turn === 'awaited' || generation === held.generation)
}
