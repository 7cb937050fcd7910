import type { CheckReport } from '../health/check.js'
import type { DurationBuckets } from './durations.js'

/** A node of the app, as far as workers care. */
export interface WorkerNodeInfo {
  readonly id: string
  /** Its lease runs. */
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

/** `unknown`: it should run, and no process that lives tells. `paused`: it runs and takes no jobs. */
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

/** What one process does for one worker. */
export interface NodeStatus {
  readonly worker: string
  /** Id of the stored worker that this is about. */
  readonly workerId: string
  /** The generation that it has applied, or has tried to apply. */
  readonly generation: number
  readonly state: WorkerState
  /** Whether the placement chose this process. */
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
  /** False when that process's lease has ended. */
  readonly alive: boolean
}

/** What nodes tell each other of workers. What one misses it finds with its next poll. */
export type WorkerMessage =
  /** The stored worker was written or removed. */
  | { readonly kind: 'change'; readonly worker: string; readonly revision: number }
  | { readonly kind: 'status'; readonly node: string; readonly status: NodeStatus }
  | { readonly kind: 'cancel'; readonly request: string; readonly queue: string; readonly job: string; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly request: string; readonly node: string }

/** What changed since a revision. */
export interface News {
  readonly revision: number
  /** Worker → revision of its last change. `all`: more than are listed, so that everything has to be read. */
  readonly changed: ReadonlyMap<string, number> | 'all'
  /** Whether the store has statuses of the node that asks. */
  readonly reported: boolean
}

/** Attempts whose outcome is stored; neither those that were cancelled nor those that were put off. */
export interface AttemptCounts {
  /** Of jobs that completed. */
  readonly completed: number
  /** All others. */
  readonly failed: number
  /** Of the failed: timed out, stalled, or their sandbox died. */
  readonly lost: number
  /** Sum of the run times of all attempts, ms. */
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
  /** Run times of the attempts. Those that were lost with their node have none. */
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
  /** Processes that should apply it. */
  readonly targets: readonly string[]
  /** What the worker should do from then on. */
  readonly desired: 'running' | 'stopped'
  /** Of an activation: its version. */
  readonly version?: string
  /** What came of it, once nothing more will. */
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
  /** Forgets what a node said of a worker that is gone, not of a later one of its name. */
  forget(node: string, worker: string, workerId: string): Promise<void>
  /** Forgets everything that a node said. */
  forgetNode(node: string): Promise<void>
  /** What any node said of these workers; one round trip. */
  statuses(workers: readonly string[]): Promise<readonly StoredStatus[]>
  /** Names of workers that one of these nodes says are `running`; one round trip. */
  running(nodes: readonly string[]): Promise<ReadonlySet<string>>

  /** Notes that a stored worker changed: the new revision. */
  change(worker: string): Promise<number>
  /** What changed since a revision; one round trip. A revision that was never given, as -1, has `all`. */
  news(node: string, since: number): Promise<News>

  saveOperation(operation: OperationRecord): Promise<void>
  operation(id: string): Promise<OperationRecord | undefined>

  /** Adds attempts to the totals and to the current minute of the store's clock: all of them or, when it rejects, usually none. */
  count(deltas: readonly AttemptDelta[]): Promise<void>
  /** Attempts since the worker was made, over all nodes and versions, by worker name; one round trip. Absent: none. */
  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>>
  /**
   * Attempts of these workers, of those with any, in the order of the names, then of the minutes, then of the versions; one round trip.
   * Kept for 24 h.
   */
  counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]>
  /** Forgets counts, statuses and operations of a worker that was removed. */
  erase(worker: string): Promise<void>

  /** Forgets what is older than it is kept for, and statuses of nodes that are not among these. For the leader; short statements. */
  sweep(nodes: readonly string[]): Promise<void>

  isUnavailable(error: unknown): boolean
}
