import type { WorkerState } from '../shared/contract.js'
import type { DesiredState } from './desired-state.js'
import { awaitsStart, isRefused, type LocalState } from './local-state.js'

/** A step to the desired state. A worker that should be paused starts paused. */
export type Step = 'stop' | 'start' | 'switch' | 'resize' | 'pause' | 'resume'

const hasConsumer: Readonly<Record<WorkerState, boolean>> = {
  stopped: false,
  starting: false,
  FAILED: false,
  unknown: false,
  running: true,
  paused: true,
  stopping: true,
}

/**
 * Returns the steps from the observed state of a worker to the desired one; none if they are the same, or if the desired state is older
 * than the observed one.
 */
export function plan(desired: DesiredState, local: LocalState): readonly Step[] {
  const { observed } = local
  if (observed !== undefined && desired.generation < observed.generation) return []
  const consumes = observed !== undefined && hasConsumer[observed.state]
  if (!desired.run) return consumes || observed?.state === 'FAILED' || observed?.state === 'starting' ? ['stop'] : []
  if (!consumes) return awaitsStart(local) && !requestsStart(desired, observed) ? [] : ['start']
  if (observed.restarts !== desired.restarts || observed.consumerKey !== desired.consumerKey) return ['stop', 'start']
  const repauses = observed.paused !== desired.paused
  return [
    // A pause does not wait until code is loaded.
    ...(repauses && desired.paused ? (['pause'] as const) : []),
    ...(observed.version !== desired.version && !isRefused(local, desired.activation) ? (['switch'] as const) : []),
    ...(observed.concurrency !== desired.concurrency ? (['resize'] as const) : []),
    ...(repauses && !desired.paused ? (['resume'] as const) : []),
  ]
}

/** Whether another start was requested since. */
function requestsStart(desired: DesiredState, observed: DesiredState | undefined): boolean {
  return observed?.starts !== desired.starts || observed.restarts !== desired.restarts || observed.activation !== desired.activation
}
