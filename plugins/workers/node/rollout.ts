import type { ReportedStatus } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'

/** What one process knows when it asks which version to run. */
export interface RolloutView {
  readonly me: string
  /** What it runs now; undefined: nothing. */
  readonly current: string | undefined
  /** It has done nothing for this worker yet. */
  readonly begins: boolean
  /** The processes of the placement. */
  readonly order: readonly string[]
  /** What the processes say of the worker. */
  readonly statuses: readonly ReportedStatus[]
}

/**
 * The version that a process should run now. A new version is rolled out one process after another in the order of the placement,
 * with no leader: a process that runs another one takes its turn when every process ahead of it runs the new one, or nothing. One
 * that begins meanwhile takes the version before, and its turn like the others. A halted rollout goes no further.
 */
export function versionFor(worker: StoredWorker, view: RolloutView): string {
  const { version, previousVersion } = worker.desired
  const { begins, current } = view
  if (worker.halted !== undefined) return current ?? previousVersion ?? version
  if (current === version) return version
  const statuses = view.statuses.filter((status) => status.alive && status.workerId === worker.id)
  if (current !== undefined) return isDue(version, view, statuses) ? version : current
  const rolling = begins && statuses.some((status) => status.version !== null && status.version !== version)
  return rolling ? (previousVersion ?? version) : version
}

/** Whether the answer depends on what other processes say. */
export function asksOthers({ desired, halted }: StoredWorker, { current, begins }: Pick<RolloutView, 'current' | 'begins'>): boolean {
  if (halted !== undefined || current === desired.version) return false
  return current !== undefined || (begins && desired.previousVersion !== null)
}

function isDue(version: string, { me, order }: RolloutView, statuses: readonly ReportedStatus[]): boolean {
  const ahead = order.slice(0, Math.max(0, order.indexOf(me)))
  const told = statuses.filter((status) => ahead.includes(status.node))
  return told.length === ahead.length && told.every((status) => status.version === version || status.version === null)
}
