import type { Context } from 'koa'
import { defineService } from 'zin'
import type { Scope } from './access/scope.js'
import type { AttentionList } from './attention/item.js'

/** Percentiles of run times in ms over the last hour. */
export interface ProcessingTimes {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/**
 * The statistics of a queue. Times and rates come from the workers of the queue; a queue read only by other consumers has none.
 */
export interface QueueEntry {
  /** Jobs that have not run yet: waiting, delayed, and waiting for children. */
  readonly size: number
  readonly active: number
  /** Retained completed jobs. */
  readonly completed: number
  /** Retained failed jobs. */
  readonly failed: number
  /** Mean run time of the attempts of the last hour, in ms; 0 without attempts. */
  readonly averageProcessingTime: number
  readonly waiting: number
  readonly delayed: number
  readonly waitingChildren: number
  readonly paused: boolean
  /** How long the oldest waiting job has been ready, in ms; null if none is waiting. */
  readonly oldestWaitingMs: number | null
  /** Retained finished jobs. */
  readonly kept: number
  /** Completed attempts per second over the last one to two minutes. */
  readonly throughput: number
  /** Attempts of the last hour. */
  readonly attempts: number
  /** Share of failed attempts of the last hour, 0–1; null without attempts. */
  readonly failureRate: number | null
  readonly processingTime: ProcessingTimes | null
  /** True if the queue could not be read although its store responds: another program has overwritten one of its keys. Counts are then 0. */
  readonly broken?: true
  /** What the store said about a broken queue. */
  readonly reason?: string
}

/** The statistics of all queues the caller can see. */
export interface QueueStats {
  readonly totalQueues: number
  /** Jobs in all states. */
  readonly totalJobs: number
  readonly activeJobs: number
  readonly completedJobs: number
  readonly failedJobs: number
  /** Mean run time of the attempts of the last hour, in ms. */
  readonly averageProcessingTime: number
  /** Completed attempts per second over the last one to two minutes. */
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
  /** The redacted data; null unless it was requested and may be shown. If longer than 64 KiB, the beginning of the JSON as text. */
  readonly payload: unknown
  readonly attempts: number
  readonly maxAttempts: number
  readonly createdAt: string
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly failedAt: string | null
  /** Error of the last failed attempt, including while the job is retried; null once it has completed. */
  readonly error: string | null
  /** Run time of a finished job, in ms. */
  readonly processingTime: number | null
  readonly name: string
  /** BullMQ state. */
  readonly state: string
  /** 10 (`Critical`) to 0 (`Low`); null if unset, which runs before all others. */
  readonly priority: number | null
  /** When a delayed job becomes ready. */
  readonly readyAt: string | null
  readonly progress: unknown
  /** Started attempts; greater than `attempts` after a stall. */
  readonly attemptsStarted: number
  readonly stalls: number
  /** `<queue>:<id>` of the parent job, which waits for this one. */
  readonly parent: string | null
  /** Size of the redacted payload as JSON, in bytes; null unless requested. */
  readonly payloadBytes: number | null
  readonly payloadTruncated: boolean
  /**
   * Whether the error, the stacks or progress that is not a number are left out: they require `payload:read`, and if a plugin encrypts them,
   * that no plugin denies the view.
   */
  readonly withheld: boolean
  /** Stack traces of failed attempts, oldest first; only when a single job is read. */
  readonly stacktrace?: readonly string[]
}

/** A finished attempt of a job. */
export interface JobAttempt {
  /** Counted from 1. A lost attempt is replaced by the next one, which has the same number. */
  readonly attempt: number
  /** `completed`, `failed`, `lost` (with its process), `timedOut` or `cancelled`. */
  readonly outcome: string
  /** The version and node that ran it; null if unknown, as is usual for a job that completed on the first attempt on another node. */
  readonly version: string | null
  readonly node: string | null
  /** ISO 8601. */
  readonly endedAt: string
  /** Run time in ms. */
  readonly runMs: number
  /** Time from when it was ready until it started, in ms; null if unknown. */
  readonly waitMs: number | null
  readonly error: string | null
}

/** A job of a flow, with its children: the jobs it waits or waited for. */
export interface JobFlowNode {
  readonly id: string
  readonly queue: string
  readonly name: string
  readonly status: MonitorStatus
  /** BullMQ state. */
  readonly state: string
  readonly children: readonly JobFlowNode[]
  /** Children that are not shown: beyond the limit, no longer stored, or in a queue the caller cannot see. */
  readonly more: number
}

/** The flow of a job. */
export interface JobFlow {
  readonly id: string
  readonly queue: string
  /** The root job, which waits for all others; the job itself if it is not part of a flow. */
  readonly root: JobFlowNode
}

export interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly totalPages: number
}

export interface JobPage {
  /** Ordered by queue name; within a queue, waiting jobs in processing order and finished jobs newest first. */
  readonly jobs: readonly JobDetails[]
  readonly pagination: Pagination
}

export type ListedStatus = 'active' | 'failed' | 'completed' | 'waiting' | 'delayed'

export interface JobListQuery {
  readonly queue?: string
  /** Counted from 1. Default: 1. */
  readonly page?: number
  /** 1 to 100. Default: 20. */
  readonly limit?: number
  /** Include payloads; requires `payload:read`. Default: false. */
  readonly payload?: boolean
}

export type HistoryTier = 'minute' | 'hour' | 'day'

/** A queue during a minute, an hour or a day. */
export interface HistoryPoint {
  /** Start of the period, ISO 8601, UTC. */
  readonly at: string
  /** The highest sampled value, as for `active` and `oldestWaitingMs`. */
  readonly size: number
  readonly active: number
  readonly oldestWaitingMs: number | null
  /** Completed attempts. */
  readonly completed: number
  readonly failed: number
  readonly averageProcessingTime: number
  readonly processingTime: ProcessingTimes | null
}

/** The attempts of a job. */
export interface JobAttempts {
  /** Oldest first: of more than 50 the first 5 and the last 45. An attempt that is no longer stored is missing. */
  readonly attempts: readonly JobAttempt[]
  /** How many attempts the job has had, including one that is running. */
  readonly total: number
  /** How many of them were left out, because there are more than 50. */
  readonly omitted: number
}

/** Reads the queues and jobs of the app, limited to the scope of a caller. Default scope: everything. */
export interface QueueMonitor {
  /** Returns the scope of the caller, on routes with the middleware `monitor`. 401 MONITOR_UNAUTHORIZED on other routes. */
  scope(ctx: Context): Scope
  /** Returns the statistics of all queues, at most a few seconds old. 503 QUEUE_CONNECTION_ERROR, METRIC_COLLECTION_ERROR. */
  stats(scope?: Scope): Promise<QueueStats>
  /** Returns the statistics of a queue. 404 QUEUE_NOT_FOUND. */
  queueStats(queue: string, scope?: Scope): Promise<QueueEntry>
  /** Returns the history of a queue, oldest first. 404 QUEUE_NOT_FOUND. */
  history(queue: string, tier: HistoryTier, scope?: Scope): Promise<readonly HistoryPoint[]>
  jobs(status: ListedStatus, query?: JobListQuery, scope?: Scope): Promise<JobPage>
  /**
   * Returns a job; `id` may be `<queue>:<id>`. 404 JOB_NOT_FOUND, 409 AMBIGUOUS_JOB_ID: only jobs of other producers have an id that is not
   * unique over the queues.
   *
   * @param options `payload`: whether to include it; `allowed`: unless the caller may not see it. Default false.
   */
  job(id: string, options?: { readonly queue?: string; readonly payload?: boolean | 'allowed' }, scope?: Scope): Promise<JobDetails>
}

export const queueMonitorService = defineService<QueueMonitor>('queueMonitor')

/**
 * What needs attention in the app, checked on the server. Plugins report facts in the hook `collectAttention`.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { attentionService } from 'zin/plugins/queue-monitor'
 *
 * export const lamp = definePlugin({
 *   name: 'lamp',
 *   version: '1.0.0',
 *   uses: { attention: attentionService },
 *   setup: ({ every, log, services }) =>
 *     void every(60_000, async () => {
 *       const { items, notChecked } = await services.attention.list()
 *       log.info(items.length === 0 && notChecked.length === 0 ? 'green' : 'red')
 *     }),
 * })
 */
export interface Attentions {
  /**
   * Lists what needs attention, at most half a minute old. Never rejects: what could not be read is in `notChecked`.
   *
   * @param scope limits the list to what concerns the queues of a caller. Default: everything.
   */
  list(scope?: Scope): Promise<AttentionList>
}

export const attentionService = defineService<Attentions>('attention')
