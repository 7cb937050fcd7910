import type { ReportedStatus, WorkerState } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'

/** What nodes say of this worker, and not of an earlier one of the same name. */
export function statusesOf(worker: StoredWorker, reported: readonly ReportedStatus[]): readonly ReportedStatus[] {
  return reported.filter((status) => status.workerId === worker.id)
}

/** The version that takes new jobs: the one before as long as some node runs it, the wanted one when none runs. */
export function versionOf(worker: StoredWorker, reported: readonly ReportedStatus[]): string {
  const wanted = worker.desired.version
  const before = statusesOf(worker, reported).find(({ alive, version }) => alive && version !== null && version !== wanted)
  return before?.version ?? wanted
}

/** In the order in which they decide. */
const whenWanted: readonly WorkerState[] = ['running', 'paused', 'starting', 'FAILED', 'stopping', 'stopped']

/**
 * The state of a worker over all nodes that live. It runs when it runs somewhere, and is FAILED when it runs nowhere and one
 * node gave up. When it should run and no living node that should run it tells, it is `unknown`.
 */
export function stateOf(worker: StoredWorker, reported: readonly ReportedStatus[]): WorkerState {
  const living = statusesOf(worker, reported).filter((status) => status.alive)
  if (worker.desired.state === 'running') {
    // A node that was not chosen has nothing to say by standing still.
    const telling = living.filter(({ placed, state }) => placed || state !== 'stopped')
    return whenWanted.find((state) => telling.some((status) => status.state === state)) ?? 'unknown'
  }
  const states = new Set(living.map((status) => status.state))
  return states.size === 0 || (states.size === 1 && states.has('stopped')) ? 'stopped' : 'stopping'
}
