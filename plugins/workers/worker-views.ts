import type { RefusedVersion, Scaled, WorkerRecord } from './record/record.js'
import type { KnownNode, WorkerState } from './shared/contract.js'

/** Attempts of a worker over all nodes since it was created. `successRate` is 0–1 and 1 before the first attempt; `avgDuration` is in ms. */
export interface WorkerMetrics {
  readonly completed: number
  readonly failed: number
  readonly successRate: number
  readonly avgDuration: number
}

/** The rollout of the version that was activated last, until every node runs it. */
export interface RolloutView {
  readonly version: string
  /** `halted`: a node could not run it, and no other node takes it until a version is activated. */
  readonly state: 'rolling' | 'halted'
  /** Nodes that run it, of those that run the worker. */
  readonly taken: number
  readonly of: number
  /** When halted: where, and why. */
  readonly node?: string
  readonly code?: string
  readonly error?: string
  /** ISO 8601. */
  readonly at?: string
}

export interface WorkerStatus {
  readonly name: string
  readonly state: WorkerState
  /** The version that takes new jobs; during a rollout, and after one that failed, the previous one. */
  readonly version: string
  /** The version that was activated last. */
  readonly desiredVersion: string
  /** Integer 0–100; `GET /api/workers/:name/health` shows its terms. */
  readonly health: number
  readonly queue: string
  /** Whether the whole queue is paused, which only queue tools do: its workers then take no jobs. Null: the queue store does not respond. */
  readonly queuePaused: boolean | null
  /** Effective parallel jobs on one node: the scaled number, else that of the record. */
  readonly concurrency: number
  /** While it is scaled: to how many, why and since when. */
  readonly scaled?: Scaled
  /** Absent when every node runs the version that was activated last. */
  readonly rollout?: RolloutView
  readonly metrics: WorkerMetrics
}

/** The status of a worker on one node; `unknown` when the lease of the node has ended. */
export interface WorkerOnNode {
  readonly node: string
  readonly state: WorkerState
  readonly observedGeneration: number
  /** Whether the placement chose this node. */
  readonly placed: boolean
  readonly version: string | null
  /** The version that was activated but does not run here yet. */
  readonly awaits?: string
  readonly draining: Readonly<Record<string, number>>
  /** Versions loaded next to the active one, with their running jobs; `error`: why a version could not be loaded. Absent: none. */
  readonly candidates?: readonly { readonly version: string; readonly busy: number; readonly error?: string }[]
  readonly concurrency: number
  readonly busy: number
  readonly error?: string
  /** ISO 8601. */
  readonly at: string
}

/** A node of the app, as the API shows it. */
export interface NodeView extends Omit<KnownNode, 'startedAt' | 'leaseUntil'> {
  /** Running jobs, at most 2 s old; 0 of a lost node, whose jobs are taken over. */
  readonly busy: number
  /** ISO 8601. */
  readonly startedAt: string
  /** When its lease ends or ended, ISO 8601. */
  readonly leaseUntil: string
}

/** A worker as the API shows it. */
export interface WorkerView extends WorkerRecord {
  /** The version that takes new jobs; during a rollout, and after one that failed, the previous one. */
  readonly version: string
  /** The version that was activated last. */
  readonly desiredVersion: string
  /** Of `version`. */
  readonly processor: string | null
  readonly healthCheck: string | null
  readonly state: WorkerState
  /** `active` while running. */
  readonly status: 'active' | 'inactive'
  readonly desired: 'running' | 'stopped'
  /** Who stopped it, and when (ISO 8601). Absent if nobody has. */
  readonly stopped?: { readonly by: string; readonly at: string }
  readonly paused: boolean
  /** Whether its health checks should run. */
  readonly monitored: boolean
  readonly generation: number
  /** Lowest generation that all its nodes have applied; 0 before the first. */
  readonly observedGeneration: number
  /** Why the last step on a node failed; absent once a step succeeds there. */
  readonly lastError?: string
  /** Nodes on which it has failed while others run it. Absent when there are none. */
  readonly failedOn?: readonly string[]
  /**
   * Features that are true but inactive, because their plugin is not enabled, or a feature that they need is false: `circuitBreaker` needs
   * `plugins`, and `canary` needs `versioning`. Absent when there are none.
   */
  readonly inactiveFeatures?: readonly string[]
  /** Absent when every node runs the version that was activated last. */
  readonly rollout?: RolloutView
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
}

/**
 * `pending`: in progress, or waiting for a node that can run the worker. `applied`: every target has applied it. `failed`: some could
 * not. `halted`: only of an activation: a node could not run the version, and no other node takes it.
 */
export type OperationState = 'pending' | 'applied' | 'failed' | 'halted'

/** A change of the desired state: which nodes should apply it, and which have. */
export interface Operation {
  readonly id: string
  readonly state: OperationState
  readonly generation: number
  /** Empty: no live node can run the worker. */
  readonly targets: readonly string[]
  readonly applied: readonly string[]
  /** The errors of the targets that could not apply it. */
  readonly failed: readonly FailedTarget[]
}

export interface FailedTarget {
  readonly node: string
  readonly code: string
  readonly message: string
  /** The HTTP status that goes with the code. */
  readonly status: number
}

export interface OperationResult {
  readonly message: string
  readonly worker: WorkerView
  readonly operation: Operation
}

/**
 * `activating`: some nodes still run another one. `refused`: its rollout halted, because a node could not run it, or a plugin refused it.
 * `draining`: replaced, and some nodes still run jobs on it. `drained`: none do.
 */
export type VersionState = 'registered' | 'activating' | 'active' | 'refused' | 'draining' | 'drained'

export interface VersionView {
  readonly version: string
  readonly description: string
  readonly processor: string | null
  readonly healthCheck: string | null
  readonly state: VersionState
  /** Nodes that give it new jobs. */
  readonly nodes: readonly string[]
  /** Its running jobs. */
  readonly busy: number
  /** ISO 8601. */
  readonly createdAt: string
  readonly activatedAt: string | null
  /** Why it must not run; `at` is ISO 8601. Absent: not refused since its last activation. */
  readonly refused?: Omit<RefusedVersion, 'at'> & { readonly at: string }
}

/** An event of a worker, as `GET /api/workers/events` sends it. */
export interface WorkerEvent {
  /** `changed`: its record or desired state. `status`: its status on one node. `node`: a node joined or left. */
  readonly type: 'changed' | 'status' | 'removed' | 'node'
  readonly worker?: string
  readonly node?: string
  readonly state?: WorkerState
  readonly generation?: number
  /** With `status`: the version that takes new jobs on the node. */
  readonly version?: string | null
  /** With `changed`: the version that was activated last. */
  readonly desiredVersion?: string
  readonly error?: string
  /** ISO 8601. */
  readonly at: string
}
