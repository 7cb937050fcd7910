import type { Context } from 'koa'
import { defineService } from 'zin'
import type { Scope } from './access/scope.js'

/** Percentiles of run times in ms over the last hour. */
export interface ProcessingTimes {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/**
 * A queue in the statistics. Times and rates come from the workers of the queue; a queue that only other consumers read has none.
 */
export interface QueueEntry {
  /** Jobs that have not run yet: waiting, delayed, and waiting for children. */
  readonly size: number
  readonly active: number
  /** Completed jobs that are still kept. */
  readonly completed: number
  /** Failed jobs that are still kept. */
  readonly failed: number
  /** Mean over the attempts of the last hour, ms; 0 without any. */
  readonly averageProcessingTime: number
  readonly waiting: number
  readonly delayed: number
  readonly waitingChildren: number
  readonly paused: boolean
  /** How long the oldest waiting job has been ready, ms; null when none waits. */
  readonly oldestWaitingMs: number | null
  /** Finished jobs that are kept. */
  readonly kept: number
  /** Completed attempts per second over the last one to two minutes. */
  readonly throughput: number
  /** Attempts of the last hour. */
  readonly attempts: number
  /** Share of them that failed, 0–1; null without any. */
  readonly failureRate: number | null
  readonly processingTime: ProcessingTimes | null
}

/** The statistics of all queues that the caller may see. */
export interface QueueStats {
  readonly totalQueues: number
  /** Jobs in all states. */
  readonly totalJobs: number
  readonly activeJobs: number
  readonly completedJobs: number
  readonly failedJobs: number
  /** ms, over the attempts of the last hour. */
  readonly averageProcessingTime: number
  /** Jobs per second. */
  readonly throughput: number
  readonly queues: Readonly<Record<string, QueueEntry>>
  readonly oldestWaitingMs: number | null
  readonly kept: number
  readonly processingTime: ProcessingTimes | null
  /** When it was sampled, ISO 8601. */
  readonly sampledAt: string
}

/** The states of the monitor; `waiting` includes delayed jobs and those that wait for children. */
export type MonitorStatus = 'waiting' | 'processing' | 'completed' | 'failed'

/** A job. Times are ISO 8601, null when unset. */
export interface JobDetails {
  readonly id: string
  readonly queue: string
  readonly status: MonitorStatus
  /** The redacted data; null unless it was asked for. Text, the beginning of the JSON, when it is longer than 64 KiB. */
  readonly payload: unknown
  readonly attempts: number
  readonly maxAttempts: number
  readonly createdAt: string
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly failedAt: string | null
  /** Of its last failed attempt, also while it is tried again; null once it has completed. */
  readonly error: string | null
  /** ms. */
  readonly processingTime: number | null
  readonly name: string
  /** As BullMQ names it. */
  readonly state: string
  /** 10 (`Critical`) to 0 (`Low`); null: it has none, and runs before those that have one. */
  readonly priority: number | null
  /** When a delayed job becomes ready. */
  readonly readyAt: string | null
  readonly progress: unknown
  /** Attempts begun; greater than `attempts` after a stall. */
  readonly attemptsStarted: number
  readonly stalls: number
  /** `<queue>:<id>` of the job that waits for this one. */
  readonly parent: string | null
  /** Bytes of the redacted payload as JSON; null unless it was asked for. */
  readonly payloadBytes: number | null
  readonly payloadTruncated: boolean
  /** One text for each failed attempt; only of a single job. */
  readonly stacktrace?: readonly string[]
}

/** An attempt of a job that has ended. */
export interface JobAttempt {
  /** From 1. One that was lost has the number of the next one, which replaces it. */
  readonly attempt: number
  /** `completed`, `failed`, `lost` with its process, `timedOut` or `cancelled`. */
  readonly outcome: string
  /** The version and the node that ran it; null when it is not known, as mostly of a job that completed at once on another node. */
  readonly version: string | null
  readonly node: string | null
  /** ISO 8601. */
  readonly endedAt: string
  /** ms. */
  readonly runMs: number
  /** From when it was first due to its begin, ms; null when it is not known. */
  readonly waitMs: number | null
  readonly error: string | null
}

/** A job of a flow, with the jobs that it waits for or waited for. */
export interface JobFlowNode {
  readonly id: string
  readonly queue: string
  readonly name: string
  readonly status: MonitorStatus
  /** As BullMQ names it. */
  readonly state: string
  readonly children: readonly JobFlowNode[]
  /** Children that are not shown: beyond 50, no longer kept, or of a queue that the caller must not see. */
  readonly more: number
}

/** The flow that a job belongs to. */
export interface JobFlow {
  readonly id: string
  readonly queue: string
  /** The job that waits for all others; the job itself when it is in no flow. */
  readonly root: JobFlowNode
}

export interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly totalPages: number
}

export interface JobPage {
  /** Queue by queue in the order of their names: waiting ones in their order, finished ones newest first. */
  readonly jobs: readonly JobDetails[]
  readonly pagination: Pagination
}

export type ListedStatus = 'active' | 'failed' | 'completed' | 'waiting' | 'delayed'

export interface JobListQuery {
  readonly queue?: string
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–100. Default 20. */
  readonly limit?: number
  /** Also the payloads; requires `payload:read`. */
  readonly payload?: boolean
}

export type HistoryTier = 'minute' | 'hour' | 'day'

/** A queue over a minute, an hour or a day. */
export interface HistoryPoint {
  /** Its start, ISO 8601, UTC. */
  readonly at: string
  /** The highest that was sampled. */
  readonly size: number
  readonly active: number
  readonly oldestWaitingMs: number | null
  /** Attempts. */
  readonly completed: number
  readonly failed: number
  readonly averageProcessingTime: number
  readonly processingTime: ProcessingTimes | null
}

/** The queues and jobs of the app, each read as a caller with a scope may see them. */
export interface QueueMonitor {
  /** What the caller of a request may see and do, on a route that lists the middleware key `monitor`. 401 MONITOR_UNAUTHORIZED on others. */
  scope(ctx: Context): Scope
  /** From the last sample, at most a few seconds old. 503 QUEUE_CONNECTION_ERROR, METRIC_COLLECTION_ERROR. */
  stats(scope?: Scope): Promise<QueueStats>
  /** 404 QUEUE_NOT_FOUND. */
  queueStats(queue: string, scope?: Scope): Promise<QueueEntry>
  /** Oldest first. 404 QUEUE_NOT_FOUND. */
  history(queue: string, tier: HistoryTier, scope?: Scope): Promise<readonly HistoryPoint[]>
  jobs(status: ListedStatus, query?: JobListQuery, scope?: Scope): Promise<JobPage>
  /** `id` may be `<queue>:<id>`. 404 JOB_NOT_FOUND, 409 AMBIGUOUS_JOB_ID. */
  job(id: string, options?: { readonly queue?: string; readonly payload?: boolean }, scope?: Scope): Promise<JobDetails>
}

export const queueMonitorService = defineService<QueueMonitor>('queueMonitor')
