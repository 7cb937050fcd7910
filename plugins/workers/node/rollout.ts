import type { ReportedStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'

/** What one node knows when it asks which version to run. */
export interface RolloutView {
  readonly me: string
  /** The version that it runs now; undefined: none. */
  readonly current: string | undefined
  /** It has not done anything for this worker yet. */
  readonly begins: boolean
  /** The nodes of the placement, in its order. */
  readonly order: readonly string[]
  /** What the nodes report of the worker. */
  readonly statuses: readonly ReportedStatus[]
}

/**
 * Where a node stands in a rollout: `ready` to run the version that was activated last, `waiting` for nodes ahead of it, or `halted`,
 * since a node could not run the version.
 */
export type RolloutPhase = 'ready' | 'waiting' | 'halted'

/** The version that a node should run now: the new one when it is ready, otherwise the one that it runs, or the previous one. */
export function versionFor(worker: StoredWorker, view: RolloutView): string {
  const { version, previousVersion } = worker.desired
  return rolloutPhase(worker, view) === 'ready' ? version : (view.current ?? previousVersion ?? version)
}

/**
 * A rollout needs no leader: the nodes take the new version in the order of the placement, each when all nodes ahead of it run it, or run
 * nothing. A node that begins meanwhile takes the previous version first, and then its turn.
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
