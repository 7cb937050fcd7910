import type { CheckReport } from '../health/check.js'

/** A process of the app, as it describes itself. */
export interface NodeInfo {
  /** Unique per process start: ASCII, at most 100 characters. */
  readonly id: string
  readonly host: string
  readonly pid: number
  /** WORKER_REGION. */
  readonly region: string
  /** Whether it runs workers, or only manages them. */
  readonly consumes: boolean
  /** ms since 1970. */
  readonly startedAt: number
}

/** A process that other processes know of. */
export interface KnownNode extends NodeInfo {
  /** Its lease runs. A node that is not alive is shown for a while, then forgotten. */
  readonly alive: boolean
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
  readonly concurrency: number
  /** Jobs that run right now. */
  readonly busy: number
  /** Why the last step failed; until one succeeds. */
  readonly error?: StatusError
  readonly check?: CheckReport
  /** ms since 1970. */
  readonly at: number
}

/** A status and the process that it comes from. */
export interface ReportedStatus extends NodeStatus {
  readonly node: string
  /** False when that process's lease has ended. */
  readonly alive: boolean
}

/** What processes tell each other. Lost ones are made up for by the next beat. */
export type ClusterMessage =
  /** The stored worker was written or removed. */
  | { readonly kind: 'change'; readonly worker: string }
  | { readonly kind: 'status'; readonly node: string; readonly status: NodeStatus }
  /** A process joined or left on its own account. */
  | { readonly kind: 'node'; readonly node: string; readonly joined: boolean }
  | { readonly kind: 'cancel'; readonly request: string; readonly queue: string; readonly job: string; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly request: string; readonly node: string }
  /** A leader role was given up: whoever runs for it may try at once. */
  | { readonly kind: 'vacant'; readonly role: string }
  /** Never sent: this process was cut off and may have missed messages, so it should look at what is stored. */
  | { readonly kind: 'resync' }

/** What a process may send. */
export type SentMessage = Exclude<ClusterMessage, { readonly kind: 'resync' }>

/** What a process learns from its beat. */
export interface Beat {
  /** Grows with every `announce`. */
  readonly revision: number
  readonly nodes: readonly KnownNode[]
}

/** Attempts of one version of a worker since the last count. */
export interface AttemptCounts {
  readonly completed: number
  readonly failed: number
  /** Of the failed: timed out, stalled, or their sandbox died. */
  readonly lost: number
  /** Sum over all attempts, ms. */
  readonly totalMs: number
}

export interface AttemptDelta extends AttemptCounts {
  readonly worker: string
  /** Null: counted in the totals only. */
  readonly version: string | null
}

/** Attempts of one minute, over all processes. */
export interface MinuteCounts extends AttemptCounts {
  /** Start of the minute, ms since 1970. */
  readonly minute: number
  readonly version: string
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

/**
 * How the processes of an app act as one: leases, statuses, messages, counts, operations and leader roles. On Redis, on SQL, or
 * within one process; one contract test runs on all. It holds what is known, never what is desired. A method that cannot
 * reach the store rejects, and `isUnavailable` knows the error.
 */
export interface Cluster {
  readonly kind: 'memory' | 'redis' | 'sql'
  open(): Promise<void>
  /** Ends the connections and timers it made. Leases stay: see `leave`. */
  close(): Promise<void>

  /** Renews the lease of a process and answers what it should know. One round trip. */
  beat(node: NodeInfo, leaseMs: number): Promise<Beat>
  /** Gives the lease up and forgets the node's statuses; tells the others. */
  leave(node: string): Promise<void>
  nodes(): Promise<readonly KnownNode[]>

  /** Stores and tells statuses; one round trip for all of them. */
  report(node: string, statuses: readonly NodeStatus[]): Promise<void>
  /** Forgets what a process said of a worker that is gone, not of a later one of its name. */
  forget(node: string, worker: string, workerId: string): Promise<void>
  /** What all known processes say of these workers, by worker name; one round trip. */
  statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>>
  /** Names of workers that a living process says are `running`; one round trip. */
  running(): Promise<ReadonlySet<string>>

  /** Says that a stored worker changed. Adds one to the revision. */
  announce(worker: string): Promise<void>
  send(message: SentMessage): Promise<void>
  /** Hears all messages, also its own, those of one sender in their order. Returns what ends it. */
  listen(listener: (message: ClusterMessage) => void): () => void

  saveOperation(operation: OperationRecord): Promise<void>
  operation(id: string): Promise<OperationRecord | undefined>

  /** Adds attempts to the totals and to the current minute of the store's clock: all of them or, when it rejects, usually none. */
  count(deltas: readonly AttemptDelta[]): Promise<void>
  /** Attempts since the worker was made, over all processes and versions, by worker name; one round trip. Absent: none. */
  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>>
  /** Minutes with attempts, from the one that `since` (ms since 1970) is in, oldest first. Kept for 24 h. */
  minutes(worker: string, since: number): Promise<readonly MinuteCounts[]>
  /** Forgets counts, statuses and operations of a worker that was removed. */
  erase(worker: string): Promise<void>

  /**
   * Takes a leader role that nobody holds, or renews it for its holder. The epoch grows with every change of hands, so that a
   * write which carries it can be refused when it is old. Undefined: somebody else holds it.
   */
  lead(role: string, node: string, leaseMs: number): Promise<number | undefined>
  /** Whether `epoch` is still the newest of that role. */
  leads(role: string, epoch: number): Promise<boolean>
  /** Gives a role up if `node` holds it, and tells the others. */
  resign(role: string, node: string): Promise<void>
  /** Forgets what is older than it is kept for: lost nodes, minutes, operations, messages. For the leader. */
  sweep(): Promise<void>

  isUnavailable(error: unknown): boolean
}
