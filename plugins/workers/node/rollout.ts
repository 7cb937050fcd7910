import type { ReportedStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'

/** What a node knows when it decides which version to run. */
export interface RolloutView {
  readonly me: string
  /** The version that this node runs now; undefined if none. */
  readonly current: string | undefined
  /** Whether this node has not done anything for the worker yet. */
  readonly begins: boolean
  /** The nodes of the placement, in order. */
  readonly order: readonly string[]
  /** The statuses of the worker on all nodes. */
  readonly statuses: readonly ReportedStatus[]
}

/**
 * The phase of a node in a rollout: `ready` to run the version that was activated last, `waiting` for nodes ahead of it, or `halted`
 * because a node could not run the version.
 */
export type RolloutPhase = 'ready' | 'waiting' | 'halted'

/** Returns the version that a node should run now: the new one if it is ready, otherwise its current or the previous one. */
export function versionFor(worker: StoredWorker, view: RolloutView): string {
  const { version, previousVersion } = worker.desired
  return rolloutPhase(worker, view) === 'ready' ? version : (view.current ?? previousVersion ?? version)
}

/**
 * Returns the phase of a node. A rollout needs no leader: the nodes switch in the order of the placement, each once all nodes ahead of it
 * run the new version or none. A node that starts during a rollout runs the previous version until its turn.
 */
export function rolloutPhase({ id, desired, halted }: StoredWorker, view: RolloutView): RolloutPhase {
  const { begins, current, me, order } = view
  const { version } = desired
  if (halted !== undefined) return 'halted'
  if (current === version) return 'ready'
  const statuses = view.statuses.filter((status) => status.alive && status.workerId === id)
  if (current === undefined) {
    const rolling = begins && statuses.some((status) => status.version !== null && status.version !== version)
    return rolling ? 'waiting' : 'ready'
  }
  const ahead = order.slice(0, Math.max(0, order.indexOf(me)))
  const known = statuses.filter((status) => ahead.includes(status.node))
  const passed = known.length === ahead.length && known.every((status) => status.version === version || status.version === null)
  return passed ? 'ready' : 'waiting'
}

/** Whether the phase depends on the statuses of other nodes. */
export function needsStatuses({ desired, halted }: StoredWorker, { current, begins }: Pick<RolloutView, 'current' | 'begins'>): boolean {
  if (halted !== undefined || current === desired.version) return false
  return current !== undefined || (begins && desired.previousVersion !== null)
}
