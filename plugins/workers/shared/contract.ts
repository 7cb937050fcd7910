import type { CheckReport } from '../health/check.js'
import type { DurationBuckets } from './durations.js'

/** A node of the app, as far as workers care. */
export interface WorkerNodeInfo {
  readonly id: string
  /** Whether its lease is valid. */
  readonly alive: boolean
  /** WORKER_REGION. */
  readonly region: string
  /** Whether it runs workers, or only manages them. */
  readonly consumes: boolean
}

/** A node with its lease, as the store of the cluster has it. */
export interface KnownNode extends WorkerNodeInfo {
  readonly host: string
  readonly pid: number
  /** ms since 1970. */
  readonly startedAt: number
  /** When its lease ends or ended, ms since 1970 by the clock of the store. */
  readonly leaseUntil: number
  /** ms until its lease ends, by the clock of the store; 0 when it has ended. */
  readonly leaseMs: number
}

/** `unknown`: it should run, and no live node reports it. `paused`: it runs and takes no jobs. */
export type WorkerState = 'stopped' | 'starting' | 'running' | 'paused' | 'stopping' | 'FAILED' | 'unknown'

export interface StatusError {
  readonly code: string
  readonly message: string
  /** The HTTP status that goes with the code. */
  readonly status: number
  /** The version that could not run here, so that the one before goes on. Absent: the worker itself is what failed. */
  readonly version?: string
  /** The generation whose step failed; what came later did not touch what is broken. Absent: that of the status. */
  readonly generation?: number
}

/** A version that is loaded beside the active one for the jobs that a route gives it. */
export interface CandidateStatus {
  readonly version: string
  /** Its jobs that run right now. */
  readonly busy: number
  /** Why it could not be loaded: its jobs run on the active version. */
  readonly error?: StatusError
}

/** The status of one worker on one node. */
export interface NodeStatus {
  readonly worker: string
  /** Id of the stored worker that this is about. */
  readonly workerId: string
  /** The generation that it has applied, or has tried to apply. */
  readonly generation: number
  readonly state: WorkerState
  /** Whether the placement chose this node. */
  readonly placed: boolean
  /** The version that takes new jobs here; null when none does. */
  readonly version: string | null
  /** The version that was activated and does not run here yet; absent: none. */
  readonly awaits?: string
  /** Versions that were replaced and still run jobs here, with their number. */
  readonly draining: Readonly<Record<string, number>>
  /** Versions loaded beside the active one, or that could not be loaded. Absent: none. */
  readonly candidates?: readonly CandidateStatus[]
  readonly concurrency: number
  /** Jobs that run right now. */
  readonly busy: number
  /** Why the last step failed; until one succeeds. */
  readonly error?: StatusError
  readonly check?: CheckReport
  /** ms since 1970. */
  readonly at: number
}

/** A status and the node that it comes from. */
export interface StoredStatus extends NodeStatus {
  readonly node: string
}

export interface ReportedStatus extends StoredStatus {
  /** False when the lease of that node has ended. */
  readonly alive: boolean
}

/** Messages between nodes about workers. A node finds what it missed with its next poll. */
export type WorkerMessage =
  /** The stored worker was written or removed. */
  | { readonly kind: 'change'; readonly worker: string; readonly revision: number }
  | { readonly kind: 'status'; readonly node: string; readonly status: NodeStatus }
  | { readonly kind: 'cancel'; readonly request: string; readonly queue: string; readonly job: string; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly request: string; readonly node: string }
  /** A node has stopped a removed worker, and deleted its status. */
  | { readonly kind: 'forgotten'; readonly worker: string; readonly workerId: string }

/** What changed since a revision. */
export interface News {
  readonly revision: number
  /** Worker → revision of its last change. `all`: more than are listed, so that everything has to be read. */
  readonly changed: ReadonlyMap<string, number> | 'all'
  /** Whether the store has statuses of the calling node. */
  readonly reported: boolean
}

/** Attempts whose outcome is stored. Deferred ones are not counted. */
export interface AttemptCounts {
  readonly completed: number
  /** Attempts that failed for any reason, including `lost` and `timedOut`; not `cancelled`. */
  readonly failed: number
  /** Of the failed: the node, the child process or thread ended, or the lock of the job ran out, before the attempt ended. */
  readonly lost: number
  /** Of the failed: ran longer than the timeout. */
  readonly timedOut: number
  /** Attempts that were cancelled; neither completed nor failed. */
  readonly cancelled: number
  /** Sum of the run times of the completed and failed attempts, ms. */
  readonly totalMs: number
}

export interface AttemptDelta extends AttemptCounts {
  readonly worker: string
  /** Null: counted in the totals only. */
  readonly version: string | null
  readonly durations: DurationBuckets
}

/** Attempts of a worker over all nodes, as {@link CountsQuery} says in all or apart. */
export interface WorkerCounts extends AttemptCounts {
  readonly worker: string
  /** With `byVersion`. */
  readonly version?: string
  /** With `byMinute`: start of the minute, ms since 1970. */
  readonly minute?: number
  /** Run times of the completed and failed attempts, by bucket. Those that were lost with their node have none. */
  readonly durations: DurationBuckets
}

export interface CountsQuery {
  /** ms since 1970: attempts count from the start of its minute. */
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
  /** What the worker should do from then on. */
  readonly desired: 'running' | 'stopped'
  /** Of an activation: its version. */
  readonly version?: string
  /** Its final outcome. Absent: pending. */
  readonly outcome?: OperationOutcome
  /** ms since 1970. */
  readonly at: number
}

export interface OperationOutcome {
  readonly applied: readonly string[]
  readonly failed: readonly { readonly node: string; readonly code: string; readonly message: string; readonly status: number }[]
}

/** Most changes that {@link News} lists. */
export const mostChanges = 200

/**
 * What the nodes of an app share of their workers: statuses, changes, operations and counts. On Redis, on SQL, or within one process;
 * one contract test runs on all. It holds what is observed, never what is desired. A method that cannot reach the store rejects, and
 * `isUnavailable` knows the error.
 */
export interface StateStore {
  readonly kind: 'memory' | 'redis' | 'sql'

  /** Stores statuses of a node; one round trip for all of them. */
  report(node: string, statuses: readonly NodeStatus[]): Promise<void>
  /** Deletes a node's status of a removed worker, not of a later worker with the same name. */
  forget(node: string, worker: string, workerId: string): Promise<void>
  /** Deletes all statuses of a node. */
  forgetNode(node: string): Promise<void>
  /** The statuses of these workers on all nodes; one round trip. */
  statuses(workers: readonly string[]): Promise<readonly StoredStatus[]>
  /** Names of workers that one of these nodes reports as `running`; one round trip. */
  running(nodes: readonly string[]): Promise<ReadonlySet<string>>

  /** Records that a stored worker changed, and returns the new revision. */
  change(worker: string): Promise<number>
  /** What changed since a revision; one round trip. A revision that was never given, as -1, has `all`. */
  news(node: string, since: number): Promise<News>

  saveOperation(operation: OperationRecord): Promise<void>
  operation(id: string): Promise<OperationRecord | undefined>

  /**
   * Adds attempts to the totals and to the current minute of the store's clock, and resolves to how many of the deltas, from the first on:
   * as many as one transaction of the store takes. When it rejects, usually none.
   */
  count(deltas: readonly AttemptDelta[]): Promise<number>
  /** Attempts since the worker was created, over all nodes and versions, by worker name; one round trip. Absent: none. */
  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>>
  /**
   * Attempts of these workers, of those with any, in the order of the names, then of the minutes, then of the versions; one round trip.
   * Kept for 24 h.
   */
  counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]>
  /** Deletes counts, statuses and operations of a removed worker. */
  erase(worker: string): Promise<void>

  /** Deletes expired entries, and statuses of nodes that are not among these. For the leader; short statements. */
  sweep(nodes: readonly string[]): Promise<void>

  isUnavailable(error: unknown): boolean
}
