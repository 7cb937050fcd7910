import { isDeepStrictEqual } from 'node:util'
import type { NodeStatus } from '../shared/contract.js'
import type { LoadedVersions } from './loaded-versions.js'
import { errorOf, type LocalState } from './local-state.js'
import type { WorkerKey } from './local-worker-parts.js'

export interface StatusFacts {
  readonly worker: WorkerKey
  readonly assigned: boolean
  /** The version that was activated last. */
  readonly wanted: string | undefined
  readonly versions: Pick<LoadedVersions, 'active' | 'busy' | 'candidates'>
  /** Number of in-flight jobs. */
  readonly busy: number
  /** Whether it finishes its jobs because this node drains. */
  readonly drains: boolean
  /** ms since 1970. */
  readonly at: number
}

/** Returns the status of a worker on this node that other nodes read; undefined before the first step. */
export function statusOf(local: LocalState, { worker, assigned, wanted, versions, busy, drains, at }: StatusFacts): NodeStatus | undefined {
  const { observed, check } = local
  if (observed === undefined) return undefined
  const { generation, state, concurrency } = observed
  const version = versions.active?.version
  const candidates = versions.candidates()
  const error = errorOf(local)
  return {
    worker: worker.name,
    workerId: worker.id,
    generation,
    state: drains && (state === 'running' || state === 'paused') ? 'stopping' : state,
    placed: assigned,
    concurrency,
    ...(error === undefined ? {} : { error }),
    ...(check === undefined ? {} : { check }),
    version: version ?? null,
    ...(version === undefined || wanted === undefined || version === wanted ? {} : { awaits: wanted }),
    draining: versions.busy(),
    ...(candidates.length === 0 ? {} : { candidates }),
    busy,
    at,
  }
}

/** Whether two statuses are equal, apart from their times. */
export function isSameStatus(a: NodeStatus | undefined, b: NodeStatus | undefined): boolean {
  return isDeepStrictEqual({ ...a, at: 0 }, { ...b, at: 0 })
}

/** Like {@link isSameStatus}, but also ignores how many jobs run, when the last health check ran and how long it took. */
export function isSameReport(a: NodeStatus | undefined, b: NodeStatus): boolean {
  return a !== undefined && isSameStatus(lasting(a), lasting(b))
}

function lasting({ candidates, check, draining, ...status }: NodeStatus): NodeStatus {
  return {
    ...status,
    busy: 0,
    draining: Object.fromEntries(Object.keys(draining).map((version) => [version, 0])),
    ...(candidates && { candidates: candidates.map((candidate) => ({ ...candidate, busy: 0 })) }),
    ...(check && { check: { ...check, at: 0, durationMs: 0 } }),
  }
}
