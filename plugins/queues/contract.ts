import type {
  FlowJob,
  FlowProducer,
  Job,
  JobNode,
  JobsOptions,
  Processor,
  Queue,
  QueueEvents,
  RepeatOptions,
  Worker,
  WorkerOptions,
} from 'bullmq'
import { defineService } from 'zin'

/** Jobs of one queue by state. `waiting` counts plain and prioritised jobs, paused or not. */
export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly completed: number
  readonly failed: number
  readonly waitingChildren: number
}

/** What each job of a schedule is made of. */
export interface JobTemplate {
  readonly name: string
  readonly data?: unknown
  readonly options?: JobsOptions
}

export type ListedState = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed'

/** BullMQ queues on Redis or on the embedded store, with one behaviour. */
export interface Queues {
  readonly backend: 'redis' | 'embedded'
  /** One producer per name, shared and owned by this plugin. */
  queue(name: string): Queue
  /** A consumer with its own connection. It is closed with the plugin unless its owner closed it before. */
  worker(name: string, processor: Processor, options?: Omit<WorkerOptions, 'connection' | 'prefix'>): Worker
  /** Events of a queue; owned by the caller, and closed with the plugin at the latest. */
  events(name: string): QueueEvents
  /** The producer of job trees, shared and owned by this plugin. */
  flow(): FlowProducer
  /**
   * Adds a job with the app's retention defaults (completed 1000 or 24 h, failed 7 days). Throws ZinErrors: 400 QUEUE_INVALID_JOB,
   * 413 PAYLOAD_TOO_LARGE, 503 QUEUE_CONNECTION_ERROR.
   */
  add(queue: string, jobName: string, data: unknown, options?: JobsOptions): Promise<Job>
  /** Adds a tree of jobs, all of them or none, each with the checks and the retention of `add`. A job runs when its children are done. */
  addFlow(flow: FlowJob): Promise<JobNode>
  /**
   * Adds or replaces the recurring job `id` of a queue, with the checks and the retention of `add`. Answers the first job that it
   * adds; undefined when the timing has come to its end.
   */
  schedule(queue: string, id: string, timing: RepeatOptions, template: JobTemplate): Promise<Job | undefined>
  /**
   * Fails a job that does not run, for good and at once, as though a worker had; its parent takes it as its options say, and the jobs
   * that it waits for are removed. False when it runs, has ended or is not there.
   */
  fail(queue: string, id: string, reason: string): Promise<boolean>
  /**
   * Makes a job that runs fail when it is taken up again: its running attempt goes on, and may still complete. False when it has ended
   * or is not there.
   */
  failNext(queue: string, id: string, reason: string): Promise<boolean>
  /** When a cron pattern is due next after a time, both in ms since 1970; undefined: never. Throws for what is no pattern or zone. */
  nextRun(pattern: string, tz: string, after: number): number | undefined
  counts(queue: string): Promise<QueueCounts>
  /** Jobs of one state: waiting oldest first, finished newest first; the same on both backends. */
  list(queue: string, state: ListedState, page: { readonly offset: number; readonly limit: number }): Promise<readonly Job[]>
  /** Since when the oldest of the waiting jobs of all priorities could run, ms since 1970; undefined: none waits. Cheap at any length. */
  oldestWaiting(queue: string): Promise<number | undefined>
  /** Names of all queues that exist in the store. */
  names(): Promise<readonly string[]>
  ping(signal?: AbortSignal): Promise<number>
  isUnavailable(error: unknown): boolean
}

export const queuesService = defineService<Queues>('queues')
