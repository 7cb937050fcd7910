import type { ReportedStatus, WorkerState } from '../shared/contract.js'
import { activationOf, type StoredWorker } from '../store/contract.js'

/** The statuses of this worker, without those of an earlier one with the same name. */
export function statusesOf(worker: StoredWorker, reported: readonly ReportedStatus[]): readonly ReportedStatus[] {
  return reported.filter((status) => status.workerId === worker.id)
}

/** The version that takes new jobs: the previous one as long as a node runs it, otherwise the desired one. */
export function versionOf(worker: StoredWorker, reported: readonly ReportedStatus[]): string {
  const desired = worker.desired.version
  const previous = statusesOf(worker, reported).find(({ alive, version }) => alive && version !== null && version !== desired)
  if (previous?.version !== undefined && previous.version !== null) return previous.version
  const taken = statusesOf(worker, reported).some(({ alive, version }) => alive && version === desired)
  // A node that comes runs the previous one.
  return !taken && worker.halted?.activation === activationOf(worker) ? (worker.desired.previousVersion ?? desired) : desired
}

/** States of a worker that should run, in order of precedence. */
const precedence: readonly WorkerState[] = ['running', 'paused', 'starting', 'FAILED', 'stopping', 'stopped']

/**
 * The state of a worker over all live nodes. It is running when any node runs it, and FAILED when none does and it has failed on one.
 * It is `unknown` when it should run and none of the live nodes that should run it has reported a status.
 */
export function stateOf(worker: StoredWorker, reported: readonly ReportedStatus[]): WorkerState {
  const living = statusesOf(worker, reported).filter((status) => status.alive)
  if (worker.desired.state === 'running') {
    // The status `stopped` means nothing on a node that the placement did not choose.
    const relevant = living.filter(({ placed, state }) => placed || state !== 'stopped')
    return precedence.find((state) => relevant.some((status) => status.state === state)) ?? 'unknown'
  }
  const states = new Set(living.map((status) => status.state))
  return states.size === 0 || (states.size === 1 && states.has('stopped')) ? 'stopped' : 'stopping'
}
