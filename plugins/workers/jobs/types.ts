import type { CatchUp, JobDeduplication, Overlap, PriorityName, SchedulePolicy } from 'zin/plugins/queues'
import type { Backoff } from '../record/record.js'

/** Prevents duplicates; see the table in the README of the plugin queues for what happens in each mode. */
export type Deduplication = JobDeduplication

/** A job that was added, or the one that exists already. */
export interface Enqueued {
  readonly id: string
  readonly queue: string
  /** Whether no job was added, because one with the same `jobId` or deduplication id exists: `id` is its id. */
  readonly deduplicated: boolean
}

export interface EnqueueOptions {
  /** Name of the job. Default: the worker's name. */
  readonly name?: string
  /** Critical 10, High 5, Normal 1, Low 0, or an integer 0–10; higher runs first. Default `WORKER_PRIORITY`. */
  readonly priority?: PriorityName | number
  /** Default: the worker's `jobOptions.attempts`, else `WORKER_RETRIES`. */
  readonly attempts?: number
  /** Default: the worker's `jobOptions.backoff`, else exponential from 1000 ms. */
  readonly backoff?: Backoff
  /** ms before the job may run. Default 0. */
  readonly delay?: number
  /** Timeout of one attempt, in ms. Default: the worker's `jobOptions.timeout`, else none. */
  readonly timeout?: number
  readonly deduplication?: Deduplication
  /**
   * The id of the job, 1–200 characters. As long as a job with that id is kept in the queue, also when it has ended, adding it again adds no
   * second one, so that a repeated request is safe. Of a flow: of its root. Default: an id that is unique over all queues.
   */
  readonly jobId?: string
  /** The person or thing that the job is about, such as a user id: 1–200 characters, for plugins such as compliance. */
  readonly subject?: string
  /**
   * Only of a child in a flow: what its permanent failure does to its parent. `fail`: the parent fails, too. `continue`: the parent runs once
   * all its children have ended, and `job.getIgnoredChildrenFailures()` tells it which have failed. Default `fail`.
   */
  readonly onFailure?: 'fail' | 'continue'
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
  readonly jobId?: string
  readonly subject?: string
  readonly onFailure?: 'fail' | 'continue'
}

/** When a recurring job is added: by a cron pattern, or at an interval. */
export interface ScheduleTiming {
  /** Cron pattern of five or six fields. */
  readonly pattern?: string
  /** ms, at least 1000. Exactly one of `pattern` and `every`. */
  readonly every?: number
  /** IANA time zone of `pattern`. Default UTC. */
  readonly tz?: string
  /** ISO 8601: a run that is due then is the first, or the last. */
  readonly startDate?: string
  readonly endDate?: string
  /** Maximum number of jobs that it adds. */
  readonly limit?: number
  /** What happens to a run that is due while the previous one still waits or runs. Default `allow`. */
  readonly overlap?: Overlap
  /** How many of the runs of the last 24 h are made up that were missed while nothing was running. Default `one`. */
  readonly catchUp?: CatchUp
}

export interface ScheduleSpec extends ScheduleTiming {
  readonly data?: unknown
  /**
   * Options of each job; neither delay, jobId nor onFailure. With `deduplication`, a run is skipped while another job with that id waits or
   * runs, or within its `ttl`; other modes than `until-done` and `ttl` are refused.
   */
  readonly options?: Omit<EnqueueOptions, 'delay' | 'jobId' | 'onFailure'>
}

export interface ScheduleView extends Omit<ScheduleTiming, keyof SchedulePolicy>, Required<SchedulePolicy> {
  readonly id: string
  readonly worker: string
  readonly name: string
  /** ISO 8601; null: no more jobs are added. */
  readonly nextAt: string | null
}

/** A job and the jobs that must complete before it. */
export interface FlowSpec {
  readonly worker: string
  readonly data?: unknown
  readonly options?: EnqueueOptions
  readonly children?: readonly FlowSpec[]
}

/** A flow that was added, or the one that exists already. */
export interface EnqueuedFlow extends FlowJob {
  /** Whether nothing was added, because the root exists. */
  readonly deduplicated: boolean
}

/** The jobs that a flow added, in its shape. */
export interface FlowJob {
  readonly worker: string
  readonly id: string
  readonly queue: string
  readonly children: readonly FlowJob[]
}

/**
 * `removed`: it was waiting and has been removed. `failed`: it was waiting, and has failed for its parent. `cancelled`: it was running and
 * its signal was aborted; it fails if its processor listens to the signal. `orphaned`: no reachable node runs it; it fails instead of being
 * run again when its lock ends.
 */
export type CancelOutcome = 'removed' | 'failed' | 'cancelled' | 'orphaned'

export type JobStatus = 'waiting' | 'active' | 'completed' | 'failed' | 'delayed'

/** A job as the API returns it; times are ISO 8601 or null. */
export interface WorkerJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly status: JobStatus
  readonly priority: number | null
  /** Attempts that have ended. */
  readonly attempts: number
  readonly maxAttempts: number
  /** How often an attempt was lost with its node; these do not count as attempts. */
  readonly stalls: number
  /** As reported by the processor: a number, or JSON. */
  readonly progress: unknown
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly result: unknown
  readonly error: string | null
}

/** A job as hooks receive it. */
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

/** A job whose attempt has failed, as hooks receive it. */
export interface FailedJobView extends JobView {
  /** Whether it is not retried: its attempts are used up, its failure is permanent, it was cancelled, or it lost its node too often. */
  readonly final: boolean
}

/**
 * How an attempt ended. `lost`: its node died or lost the job's lock, or the thread or process of its processor died. `timedOut`: it
 * ran longer than its timeout. `deferred`: it neither completed nor failed: the job was delayed, released or waits for its children.
 */
export type AttemptOutcome = 'completed' | 'failed' | 'lost' | 'timedOut' | 'cancelled' | 'deferred'

/** An attempt whose outcome the store has accepted. */
export interface AttemptEnd {
  readonly worker: string
  /** The version that ran it; null: unknown. */
  readonly version: string | null
  /** The node that ran it; null: it was lost with an unknown node. */
  readonly node: string | null
  readonly job: JobView
  /** From 1. A lost or deferred attempt does not count: the next one has the same number. */
  readonly attempt: number
  /** Whether the job is done: it completed, failed permanently, was cancelled, has used up its attempts, or lost its node too often. */
  readonly final: boolean
  readonly outcome: AttemptOutcome
  /** ms; 0 for a job that failed before it ran, and for an attempt that was lost with its node. */
  readonly runMs: number
  /** From when the job was ready (added, its delay or backoff over, its children done) to the start of this attempt, in ms. */
  readonly waitMs: number
  /** Absent when it completed. */
  readonly error?: Error
}

/** A job that the store has accepted, as hooks receive it: without its payload. */
export interface AddedJob {
  readonly id: string
  readonly queue: string
  readonly name: string
  /** Priority 0–10, attempts, backoff, delay, and all other requested options. */
  readonly options: JobPlan
}

/** Jobs in the worker's queue, by state; finished jobs are removed by retention. */
export type JobCounts = Readonly<Record<JobStatus, number>>
