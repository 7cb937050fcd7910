import type { PriorityName } from 'zin/plugins/queues'
import type { Backoff } from '../record/record.js'

/** Keeps equal jobs out: while one of the same id waits or runs, or for `ttl` ms, adding another gives the one there is. */
export interface Deduplication {
  /** 1–128 characters. */
  readonly id: string
  /** ms; without it, until the job is done. */
  readonly ttl?: number
}

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
  /** Longest run of one attempt in ms. Default: the worker's `jobOptions.timeout`, else none. */
  readonly timeout?: number
  readonly deduplication?: Deduplication
  /** Whom or what the job is about, such as the id of a person: 1–200 characters, for plugins such as compliance. */
  readonly subject?: string
}

/** Job options with every default filled in. */
export interface JobPlan {
  readonly name: string
  /** 0–10. */
  readonly priority: number
  readonly attempts: number
  readonly backoff: Backoff
  readonly delay: number
  readonly timeout?: number
  readonly deduplication?: Deduplication
  readonly subject?: string
}

/** When a recurring job is added: by a cron pattern, or every so many ms. */
export interface ScheduleTiming {
  /** Five or six fields, cron syntax. */
  readonly pattern?: string
  /** ms, at least 1000. Exactly one of `pattern` and `every`. */
  readonly every?: number
  /** IANA time zone of `pattern`. Default UTC. */
  readonly tz?: string
  /** ISO 8601. */
  readonly startDate?: string
  readonly endDate?: string
  /** Most jobs it adds. */
  readonly limit?: number
}

export interface ScheduleSpec extends ScheduleTiming {
  readonly data?: unknown
  /** Options of each job; neither delay nor deduplication. */
  readonly options?: Omit<EnqueueOptions, 'delay' | 'deduplication'>
}

export interface ScheduleView extends ScheduleTiming {
  readonly id: string
  readonly worker: string
  readonly name: string
  /** ISO 8601; null: it adds no more. */
  readonly nextAt: string | null
}

/** A job and the jobs that must be done before it. */
export interface FlowSpec {
  readonly worker: string
  readonly data?: unknown
  readonly options?: EnqueueOptions
  readonly children?: readonly FlowSpec[]
}

/** The jobs that a flow added, in its shape. */
export interface FlowJob {
  readonly worker: string
  readonly id: string
  readonly queue: string
  readonly children: readonly FlowJob[]
}

/**
 * `removed`: it was waiting and is gone. `failed`: it was waiting, and its parent takes it as failed. `cancelled`: it was running and was told to stop; it fails when it listens to its signal.
 * `orphaned`: no process that answers runs it; it fails instead of being run again when its lock ends.
 */
export type CancelOutcome = 'removed' | 'failed' | 'cancelled' | 'orphaned'

export type JobStatus = 'waiting' | 'active' | 'completed' | 'failed' | 'delayed'

/** A job as the API shows it; times are ISO 8601 or null. */
export interface WorkerJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly status: JobStatus
  readonly priority: number | null
  /** Attempts that have ended. */
  readonly attempts: number
  readonly maxAttempts: number
  /** How often an attempt was lost with its process; those are no attempts. */
  readonly stalls: number
  /** Of a processor that reports any: a number, or JSON. */
  readonly progress: unknown
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

/** A job whose attempt has failed, as hooks see it. */
export interface FailedJobView extends JobView {
  /** Whether it is not tried again: its attempts are used up, it cannot succeed, it was cancelled, or it lost its process too often. */
  readonly final: boolean
}

/**
 * How an attempt ended. `lost`: its process died or lost the job's lock, or the thread or process of its processor died. `timedOut`: it
 * ran longer than its timeout. `deferred`: it neither completed nor failed: the job was put off, put back or waits for its children.
 */
export type AttemptOutcome = 'completed' | 'failed' | 'lost' | 'timedOut' | 'cancelled' | 'deferred'

/** An attempt whose outcome the store has accepted. */
export interface AttemptEnd {
  readonly worker: string
  /** The version that ran it; null: it is not known. */
  readonly version: string | null
  /** The node that ran it; null: it was lost with a node, and it is not known with which. */
  readonly node: string | null
  readonly job: JobView
  /** From 1. One that was lost or deferred did not count: the next one has the same number. */
  readonly attempt: number
  /** Whether the job is done: it completed, cannot succeed, was cancelled, or has used up its attempts or lost its process too often. */
  readonly final: boolean
  readonly outcome: AttemptOutcome
  /** 0 for a job that was failed before it ran, and for an attempt that was lost with its node. */
  readonly runMs: number
  /** From when the job was first due (added, and its delay over) to the begin of this attempt, ms. */
  readonly waitMs: number
  /** Unless it completed. */
  readonly error?: Error
}

/** A job that the store has accepted, as hooks see it: without its payload. */
export interface AddedJob {
  readonly id: string
  readonly queue: string
  readonly name: string
  /** Priority 0–10, attempts, backoff, delay, and all other requested options. */
  readonly options: JobPlan
}

/** Jobs kept in the worker's queue, by state; finished ones shrink with retention. */
export type JobCounts = Readonly<Record<JobStatus, number>>
