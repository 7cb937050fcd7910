import type { Job } from 'bullmq'
import type { CreateWorker, WorkerRecord } from './record/record.js'

/**
 * Does one job. The third argument is aborted when the job is cancelled or its worker is stopped for good.
 * What it returns is the result of the job and must be JSON.
 */
// biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
export type WorkerProcessor = (job: Job<any>, token?: string, signal?: AbortSignal) => unknown

/** Finds the processor of a worker, or answers undefined. */
export type ProcessorResolver = (workerName: string) => WorkerProcessor | undefined | Promise<WorkerProcessor | undefined>

/** `unknown`: it should run, and this process does not consume jobs, so it cannot tell. */
export type WorkerState = 'stopped' | 'starting' | 'running' | 'stopping' | 'FAILED' | 'unknown'

/** Attempts counted in this process since it began. `successRate` is 0–1 and 1 before the first attempt; `avgDuration` is in ms. */
export interface WorkerMetrics {
  readonly completed: number
  readonly failed: number
  readonly successRate: number
  readonly avgDuration: number
}

export interface WorkerStatus {
  readonly name: string
  readonly state: WorkerState
  readonly version: string
  /** Integer 0–100: 0 when FAILED, else 100 × successRate. */
  readonly health: number
  readonly queue: string
  readonly concurrency: number
  readonly metrics: WorkerMetrics
}

/** A worker as the API shows it. */
export interface WorkerView extends WorkerRecord {
  readonly state: WorkerState
  /** `active` while running. */
  readonly status: 'active' | 'inactive'
  readonly desired: 'running' | 'stopped'
  readonly generation: number
  /** Why the last start failed, until one succeeds. */
  readonly lastError?: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** A change of the desired state: which processes should apply it, and which have. */
export interface Operation {
  readonly id: string
  readonly generation: number
  readonly targets: readonly string[]
  readonly applied: readonly string[]
}

export interface OperationResult {
  readonly message: string
  readonly worker: WorkerView
  readonly operation: Operation
}

export interface OperationOptions {
  /** How long to wait until it is applied, in ms. Default: until it is. */
  readonly waitMs?: number
}

export interface ListOptions {
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–100. Default 100. */
  readonly limit?: number
  readonly status?: 'active' | 'inactive'
  /** Also list workers whose `activeStatus` is false. Default false. */
  readonly includeInactive?: boolean
}

export interface WorkerPage {
  readonly workers: readonly WorkerView[]
  readonly pagination: { readonly page: number; readonly limit: number; readonly total: number; readonly totalPages: number }
}

export interface Backoff {
  readonly type: 'fixed' | 'exponential'
  /** ms. */
  readonly delay: number
}

export type PriorityName = 'Critical' | 'High' | 'Normal' | 'Low'

export interface EnqueueOptions {
  /** Name of the job. Default: the worker's name. */
  readonly name?: string
  /** Critical 10, High 5, Normal 1, Low 0, or a whole number 0–10; more is sooner. Default `WORKER_PRIORITY`. */
  readonly priority?: PriorityName | number
  /** Default: the worker's `jobOptions.attempts`, else `WORKER_RETRIES`. */
  readonly attempts?: number
  /** Default: the worker's `jobOptions.backoff`, else exponential from 1000 ms. */
  readonly backoff?: Backoff
  /** ms before the job may run. Default 0. */
  readonly delay?: number
}

/** Job options with every default filled in. */
export interface JobPlan {
  readonly name: string
  /** 0–10. */
  readonly priority: number
  readonly attempts: number
  readonly backoff: Backoff
  readonly delay: number
}

export type JobStatus = 'waiting' | 'active' | 'completed' | 'failed' | 'delayed'

/** A job as the API shows it; times are ISO 8601 or null. */
export interface WorkerJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly status: JobStatus
  readonly attempts: number
  readonly maxAttempts: number
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly result: unknown
  readonly error: string | null
}

/** A job as hooks see it. */
export interface JobView {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly data: unknown
  /** From 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** When it was added, ms since 1970. */
  readonly timestamp: number
}

/** Jobs kept in the worker's queue, by state; finished ones shrink with retention. */
export type JobCounts = Readonly<Record<JobStatus, number>>

/**
 * Background workers: records with a desired state, and the consumers of this process.
 * Every refusal is a ZinError with a code and an HTTP status.
 */
export interface Workers {
  /** Stores a new worker, and starts it when the auto-start rule says so. 409 WORKER_EXISTS. */
  create(worker: CreateWorker, options?: OperationOptions): Promise<WorkerView>
  /** Starting a running worker succeeds and changes nothing. 410 WORKER_INACTIVE. */
  start(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Lets running jobs end within `WORKER_TIMEOUT`, then cancels them. Survives a reboot. */
  stop(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Stops and starts; starts a stopped or FAILED one. */
  restart(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Stops and forgets a worker. Its queue and jobs stay. */
  remove(name: string, options?: OperationOptions): Promise<void>
  get(name: string): Promise<WorkerView>
  list(options?: ListOptions): Promise<WorkerPage>
  status(name: string): Promise<WorkerStatus>
  metrics(name: string): Promise<WorkerMetrics & { readonly counts: JobCounts }>
  /** Adds a job to the worker's queue, whether the worker runs or not. `data` must be JSON. */
  enqueue(name: string, data: unknown, options?: EnqueueOptions): Promise<{ readonly id: string; readonly queue: string }>
  job(name: string, id: string): Promise<WorkerJob>
  /** Gives the processor of the worker named `name`; a later call replaces it. Returns what withdraws it. */
  register(name: string, processor: WorkerProcessor): () => void
  registerAll(processors: Readonly<Record<string, WorkerProcessor>>): () => void
  /** Worker name → file path, loaded when the worker starts. */
  registerPaths(paths: Readonly<Record<string, string>>): () => void
  /** Asked for names that nothing is registered under. */
  registerResolver(resolver: ProcessorResolver): () => void
}
