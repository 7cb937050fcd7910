import type { CheckReport } from '../health/check.js'
import type { DurationBuckets } from './durations.js'

/** A node of the app, with the properties that matter for workers. */
export interface WorkerNodeInfo {
  readonly id: string
  /** Whether its lease is valid. */
  readonly alive: boolean
  /** WORKER_REGION. */
  readonly region: string
  /** Whether it runs workers, or only manages them. */
  readonly consumes: boolean
  /** Whether it takes no new jobs, on request, and finishes the running ones. */
  readonly draining: boolean
}

/** A node with its lease, as stored by the cluster. */
export interface KnownNode extends WorkerNodeInfo {
  readonly host: string
  readonly pid: number
  /** ms since 1970. */
  readonly startedAt: number
  /** When its lease ends or ended, ms since 1970 by the clock of the store. */
  readonly leaseUntil: number
  /** Remaining time of its lease by the clock of the store, ms; 0 if it has ended. */
  readonly leaseMs: number
}

/** `unknown`: the worker should run, but no live node reports it. `paused`: it runs, but takes no jobs. */
export type WorkerState = 'stopped' | 'starting' | 'running' | 'paused' | 'stopping' | 'FAILED' | 'unknown'

export interface StatusError {
  readonly code: string
  readonly message: string
  /** The HTTP status that belongs to the code. */
  readonly status: number
  /** The version that could not run, so that the previous one still runs. Absent if the worker itself failed. */
  readonly version?: string
  /** The generation whose step failed; later generations did not repeat that step. Default: the generation of the status. */
  readonly generation?: number
}

/** A version that is loaded besides the active one, for the jobs that a version route sends to it. */
export interface CandidateStatus {
  readonly version: string
  /** Number of its in-flight jobs. */
  readonly busy: number
  /** Why it could not be loaded; its jobs run with the active version instead. */
  readonly error?: StatusError
}

/** The status of one worker on one node. */
export interface NodeStatus {
  readonly worker: string
  /** Id of the stored worker. */
  readonly workerId: string
  /** The generation that the node has applied, or has tried to apply. */
  readonly generation: number
  readonly state: WorkerState
  /** Whether the placement chose this node. */
  readonly placed: boolean
  /** The version that takes new jobs on this node; null if none does. */
  readonly version: string | null
  /** The activated version, while it does not run on this node yet. */
  readonly awaits?: string
  /** Replaced versions that still run jobs on this node → number of those jobs. */
  readonly draining: Readonly<Record<string, number>>
  /** Versions loaded besides the active one, or that could not be loaded. Absent if there are none. */
  readonly candidates?: readonly CandidateStatus[]
  readonly concurrency: number
  /** Number of in-flight jobs. */
  readonly busy: number
  /** Why the last step failed; kept until a step succeeds. */
  readonly error?: StatusError
  readonly check?: CheckReport
  /** ms since 1970. */
  readonly at: number
}

/** A status, with the node that reported it. */
export interface StoredStatus extends NodeStatus {
  readonly node: string
}

export interface ReportedStatus extends StoredStatus {
  /** False if the lease of that node has ended. */
  readonly alive: boolean
}

/** Messages between nodes about workers. A node that missed a message catches up with its next poll. */
export type WorkerMessage =
  /** The stored worker was written or removed. */
  | { readonly kind: 'change'; readonly worker: string; readonly revision: number }
  | { readonly kind: 'status'; readonly node: string; readonly status: NodeStatus }
  | { readonly kind: 'cancel'; readonly request: string; readonly queue: string; readonly job: string; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly request: string; readonly node: string }
  /** A node should drain, or take jobs again. */
  | { readonly kind: 'drain'; readonly node: string; readonly draining: boolean }
  /** A node has stopped a removed worker and deleted its status. */
  | { readonly kind: 'forgotten'; readonly worker: string; readonly workerId: string }

/** The changes since a revision. */
export interface News {
  readonly revision: number
  /** Worker → revision of its last change. `all`: there are too many to list, or they are not known, so read all workers. */
  readonly changed: ReadonlyMap<string, number> | 'all'
  /** Whether the store has statuses of the calling node. */
  readonly reported: boolean
}

/** Numbers of attempts whose outcome is stored. Deferred attempts are not counted. */
export interface AttemptCounts {
  readonly completed: number
  /** Attempts that failed for any reason, including `lost` and `timedOut`; not `cancelled`. */
  readonly failed: number
  /** Failed attempts whose node, child process or thread ended, or whose job lock expired, before the attempt ended. */
  readonly lost: number
  /** Failed attempts that exceeded the timeout. */
  readonly timedOut: number
  /** Attempts that were cancelled; they count neither as completed nor as failed. */
  readonly cancelled: number
  /** Total run time of the completed and failed attempts, ms. */
  readonly totalMs: number
}

export interface AttemptDelta extends AttemptCounts {
  /** Id of the worker, so that a later one with the same name inherits nothing. */
  readonly worker: string
  /** Null: counts only towards the totals. */
  readonly version: string | null
  readonly durations: DurationBuckets
}

/** Attempts of a worker on all nodes, grouped as {@link CountsQuery} requests. */
export interface WorkerCounts extends AttemptCounts {
  /** Its name; in a store, its id. */
  readonly worker: string
  /** With `byVersion`. */
  readonly version?: string
  /** With `byMinute`: start of the minute, ms since 1970. */
  readonly minute?: number
  /** Run times of the completed and failed attempts, by bucket. Attempts lost with their node have none. */
  readonly durations: DurationBuckets
}

export interface CountsQuery {
  /** ms since 1970, rounded down to the minute. */
  readonly since: number
  readonly byVersion?: boolean
  readonly byMinute?: boolean
}

/** A change of the desired state, kept for a day. */
export interface OperationRecord {
  readonly id: string
  readonly worker: string
  readonly workerId: string
  readonly action: string
  readonly generation: number
  /** Nodes that should apply it. */
  readonly targets: readonly string[]
  /** The new desired state of the worker. */
  readonly desired: 'running' | 'stopped'
  /** The activated version, if it is an activation. */
  readonly version?: string
  /** The final outcome. Absent while the operation is pending. */
  readonly outcome?: OperationOutcome
  /** ms since 1970. */
  readonly at: number
}

export interface OperationOutcome {
  /** The targets that had not ended meanwhile. Default: all of the operation. */
  readonly targets?: readonly string[]
  readonly applied: readonly string[]
  readonly failed: readonly { readonly node: string; readonly code: string; readonly message: string; readonly status: number }[]
}

/** Maximum number of changes that {@link News} lists. */
export const mostChanges = 200

/**
 * The state of workers that the nodes of an app share: statuses, changes, operations and counts. It is stored in Redis, in SQL, or within
 * one process; one contract test runs on all of them. It contains observations, never desired states. A method rejects if the store is
 * unreachable; `isUnavailable` recognizes that error.
 */
export interface StateStore {
  readonly kind: 'memory' | 'redis' | 'sql'

  /** Stores statuses of a node, in one round trip. */
  report(node: string, statuses: readonly NodeStatus[]): Promise<void>
  /** Deletes a node's status of a removed worker, but not of a later worker with the same name. */
  forget(node: string, worker: string, workerId: string): Promise<void>
  /** Deletes all statuses of a node. */
  forgetNode(node: string): Promise<void>
  /** Returns the statuses of these workers on all nodes, in one round trip. */
  statuses(workers: readonly string[]): Promise<readonly StoredStatus[]>
  /** Returns the names of workers that at least one of these nodes reports as `running`, in one round trip. */
  running(nodes: readonly string[]): Promise<ReadonlySet<string>>

  /** Records that a stored worker changed, and returns the new revision. */
  change(worker: string): Promise<number>
  /** Returns the changes since a revision, in one round trip; `all` for a revision that does not exist, such as -1. */
  news(node: string, since: number): Promise<News>

  saveOperation(operation: OperationRecord): Promise<void>
  operation(id: string): Promise<OperationRecord | undefined>

  /**
   * Adds attempts to the totals and to the current minute of the store's clock. Resolves to how many of the deltas were added, from the
   * first on, because one transaction of the store may not take all of them. If it rejects, usually none were added.
   */
  count(deltas: readonly AttemptDelta[]): Promise<number>
  /** Returns the attempts since the creation of each worker, on all nodes and of all versions, by id, in one round trip. */
  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>>
  /**
   * Returns the attempts of those of these workers that have any, in the given order of workers, then by minute, then by version, in one
   * round trip. Counts are kept for 24 h.
   */
  counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]>
  /** Deletes counts, statuses and operations of a removed worker, but not of a later one with the same name. */
  erase(worker: string, workerId: string): Promise<void>

  /** Deletes expired entries, and statuses of nodes other than these, in short statements. Called by the leader. */
  sweep(nodes: readonly string[]): Promise<void>

  isUnavailable(error: unknown): boolean
}
