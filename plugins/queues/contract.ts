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
  Telemetry,
  Worker,
  WorkerOptions,
} from 'bullmq'
import { defineService } from 'zin'
import type { Cancellation, Canceller, QueueJob } from './cancel.js'
import type { FollowOptions, QueueEvent } from './event-stream.js'

/** Jobs of one queue by state. `waiting` counts plain and prioritised jobs, paused or not. */
export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly completed: number
  readonly failed: number
  readonly waitingChildren: number
}

/** A job that is to be added. */
export interface NewJob {
  readonly name: string
  /** JSON. */
  readonly data?: unknown
  readonly options?: JobsOptions
}

/** What each job of a schedule is made of. */
export type JobTemplate = NewJob

export type ListedState = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed'

/** BullMQ queues on Redis or on the embedded store, with one behaviour. */
export interface Queues {
  readonly backend: 'redis' | 'embedded'
  /** One producer per name, shared and owned by this plugin. */
  queue(name: string): Queue
  /**
   * A consumer with its own connection. Its processor gets and gives payloads as they were before the payload hooks; a result that not
   * every store can keep fails the job for good. It is closed with the plugin unless its owner closed it before.
   */
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
  /**
   * Adds jobs in one round trip, all of them or none, each with the checks and the retention of `add`.
   *
   * @example
   * const { queues } = ctx.services
   * await queues.addBulk('emails', [{ name: 'welcome', data: { to: 'a@example.com' } }, { name: 'digest' }])
   */
  addBulk(queue: string, jobs: readonly NewJob[]): Promise<readonly Job[]>
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
  /** A job and BullMQ's name of its state; undefined: there is none of that id. Its payloads are as they are stored. */
  job(queue: string, id: string): Promise<QueueJob | undefined>
  /** The data of a job as they were added. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredData(job: Pick<Job, 'queueName' | 'data'>): Promise<unknown>
  /** The result of a completed job as its processor gave it. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredResult(job: Pick<Job, 'queueName' | 'returnvalue'>): Promise<unknown>
  /**
   * Removes a job that waits, or aborts the signal of one that runs, wherever it runs; it fails with `Cancelled: <reason>` then.
   * Takes a few seconds at most for a job of another node.
   *
   * @example
   * const { queues } = ctx.services
   * const { outcome } = await queues.cancel('emails', '42', 'asked by Ann')
   */
  cancel(queue: string, id: string, reason: string): Promise<Cancellation>
  /** Lets `cancel` reach the running jobs of a consumer that keeps their signals itself. Returns what takes it back. */
  addCanceller(canceller: Canceller): () => void
  /** When a cron pattern is due next after a time, both in ms since 1970; undefined: never. Throws for what is no pattern or zone. */
  nextRun(pattern: string, tz: string, after: number): number | undefined
  counts(queue: string): Promise<QueueCounts>
  /** Counts of many queues in one round trip for every 1000 of them. */
  countsOf(queues: readonly string[]): Promise<ReadonlyMap<string, QueueCounts>>
  /**
   * The events of a queue in their order, none left out: what happens while one is handled is read when it is asked for, also after a
   * lost connection, and after a restart when `after` is the id of the last event. The store keeps about the last 10,000 of a queue;
   * a reader that falls behind them gets 410 QUEUE_EVENTS_LOST instead of a gap. It begins when this resolves, has a connection of its
   * own, and ends with its signal, when it is left, or with the plugin.
   *
   * @example
   * const { queues } = ctx.services
   * let lastSeen = '0'
   * for await (const { id, event, jobId } of await queues.follow('emails', { after: lastSeen })) {
   *   if (event === 'failed') log.warn({ job: jobId }, 'an email failed')
   *   lastSeen = id
   * }
   */
  follow(queue: string, options?: FollowOptions): Promise<AsyncIterableIterator<QueueEvent>>
  /**
   * Traces what is added and done from now on: called in `setup`, all of it. 409 QUEUE_TELEMETRY_SET when somebody does already.
   * Returns what ends it for queues and consumers that are made later.
   *
   * @example
   * ctx.services.queues.setTelemetry(telemetry)
   */
  setTelemetry(telemetry: Telemetry): () => void
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
