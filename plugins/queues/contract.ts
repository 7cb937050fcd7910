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
import type { Cancellation, Canceller, QueueJob } from './cancel.js'
import type {
  DeletedJob,
  DeletedJobDetails,
  DeletedStep,
  DeleteOutcome,
  DeleteRange,
  RestoredStep,
  UndoOptions,
  UndoRoom,
} from './deletion/contract.js'
import type { FollowOptions, QueueEvent } from './event-stream.js'
import type { JobTextPart } from './hooks.js'
import type { FoundJobs } from './search/contract.js'
import type { QueueTelemetry } from './telemetry.js'

/** Jobs of one queue by state. `waiting` counts plain and prioritised jobs, paused or not. */
export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly completed: number
  readonly failed: number
  readonly waitingChildren: number
}

/** A queue as it is at one moment. */
export interface QueueSample {
  readonly counts: QueueCounts
  readonly paused: boolean
  /** Since when the oldest waiting job has been ready, ms since 1970; undefined when none waits. */
  readonly oldestWaiting: number | undefined
}

/** The options of a job. */
export type JobOptions = JobsOptions & {
  /** Whom or what the data are about, such as the id of a person. Kept with the job for plugins; the queues do nothing with it. */
  readonly subject?: string
}

/** A job to add. */
export interface NewJob {
  readonly name: string
  /** JSON. */
  readonly data?: unknown
  readonly options?: JobOptions
}

/** Lines of a job's log. */
export interface JobLogs {
  /** Oldest first. */
  readonly logs: readonly string[]
  /** Of all lines that are kept. */
  readonly count: number
}

/** The template for each job of a schedule. */
export type JobTemplate = NewJob

export interface Purged {
  /** Ids of jobs that were removed, also of deleted ones that could have been restored. */
  readonly removed: readonly string[]
  /** Ids of jobs that are left, because they are running. */
  readonly running: readonly string[]
}

export interface RewriteOptions {
  /** `deleted`: a deleted job that can still be restored. Default `job`. */
  readonly kind?: 'job' | 'deleted' | 'schedule'
  readonly only?: (stored: unknown) => boolean
}

export type RewriteOutcome = 'rewritten' | 'unchanged' | 'busy' | 'unknown'

export type ListedState = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed'

/** BullMQ queues on Redis or on the embedded store, which behave the same. */
export interface Queues {
  readonly backend: 'redis' | 'embedded'
  /** The producer for a queue: one per name, shared and owned by this plugin. */
  queue(name: string): Queue
  /**
   * A consumer with its own connection. Its processor receives and returns original payloads, outside the payload hooks. A result that
   * some store cannot store fails the job permanently. It closes with the plugin unless its owner closes it earlier.
   */
  worker(name: string, processor: Processor, options?: Omit<WorkerOptions, 'connection' | 'prefix'>): Worker
  /** Events of a queue; owned by the caller, closed with the plugin at the latest. */
  events(name: string): QueueEvents
  /** The producer of flows (job trees), shared and owned by this plugin. */
  flow(): FlowProducer
  /**
   * Adds a job with the app's retention defaults (completed 1000 or 24 h, failed 7 days). Throws ZinErrors: 400 QUEUE_INVALID_JOB,
   * 413 PAYLOAD_TOO_LARGE, 503 QUEUE_CONNECTION_ERROR.
   */
  add(queue: string, jobName: string, data: unknown, options?: JobOptions): Promise<Job>
  /**
   * Adds jobs atomically in one round trip, with the checks and retention of `add`.
   *
   * @example
   * const { queues } = ctx.services
   * await queues.addBulk('emails', [{ name: 'welcome', data: { to: 'a@example.com' } }, { name: 'digest' }])
   */
  addBulk(queue: string, jobs: readonly NewJob[]): Promise<readonly Job[]>
  /** Adds a tree of jobs atomically, with the checks and retention of `add`. A job runs when its children are done. */
  addFlow(flow: FlowJob): Promise<JobNode>
  /**
   * Adds or replaces the recurring job `id` of a queue, with the checks and retention of `add`. Returns the first job that it adds;
   * undefined when the schedule has ended.
   */
  schedule(queue: string, id: string, timing: RepeatOptions, template: JobTemplate): Promise<Job | undefined>
  /**
   * Fails a waiting job permanently and at once, as though a worker had. Its parent handles the failure as its options say, and its
   * waiting children are removed. False when the job is running, has ended or does not exist.
   */
  fail(queue: string, id: string, reason: string): Promise<boolean>
  /**
   * Makes a running job fail when it is picked up again. Its current attempt continues, and may still complete. False when the job has
   * ended or does not exist.
   */
  failNext(queue: string, id: string, reason: string): Promise<boolean>
  /**
   * A job and its state, as BullMQ names it; undefined when the id is unknown. Its payloads are in stored form; its error, stacks and
   * progress are the originals, or say why they cannot be restored.
   */
  job(queue: string, id: string): Promise<QueueJob | undefined>
  /** The fields that the option `search` declares, by queue. */
  readonly searchFields: Readonly<Record<string, readonly string[]>>
  /**
   * Jobs by values of declared fields of their data, in any state. A field that holds a list has each of its values. Throws 400
   * QUEUE_FIELD_UNKNOWN. The jobs are as those of `job`.
   *
   * @param values by the path of the field: all of them have to be there.
   * @param options `limit`: most entries of the index that are looked up.
   *
   * @example
   * const { jobs } = await ctx.services.queues.find('orders', { 'customer.id': '4711' }, { limit: 20 })
   */
  find(queue: string, values: Readonly<Record<string, string>>, options: { readonly limit: number }): Promise<FoundJobs>
  /** The original data of a job. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredData(job: Pick<Job, 'queueName' | 'data'>): Promise<unknown>
  /** The original result of a completed job. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredResult(job: Pick<Job, 'queueName' | 'returnvalue'>): Promise<unknown>
  /** A text about a job that a plugin keeps itself, such as an error, in the form in which the store would keep it. */
  storedText(queue: string, text: string, part: JobTextPart): Promise<string>
  /** The original of a stored text; of one that cannot be restored, why. */
  restoredText(queue: string, text: string, part: JobTextPart): Promise<string>
  /** The original lines of a job's log, from the oldest; a line that cannot be restored says why. */
  logs(queue: string, id: string, page: { readonly offset: number; readonly limit: number }): Promise<JobLogs>
  /**
   * Passes what the store keeps of a job through the hooks again, out of the store and into it: its payload, result, progress, error,
   * stacks and log. For a plugin whose hooks store in another form than before, such as one that rotates keys. The state of the job and the
   * time of its next run stay the same.
   *
   * @param id of a job, or of a schedule with `kind: 'schedule'`: then the payload of its template is rewritten.
   * @param options `only`: whether to rewrite a part that is stored like this (parsed JSON, or text). Default: all parts.
   * @returns `busy`: it is running, or has changed while it was read; ask again later. Throws 500 JOB_PAYLOAD_UNREADABLE and changes nothing.
   */
  rewrite(queue: string, id: string, options?: RewriteOptions): Promise<RewriteOutcome>
  /**
   * Removes jobs that are not running with everything that the store keeps of them: also their events, and their results among the values
   * of their parents. A waiting child fails first, so that its parent does not wait for ever, and the next job of a schedule ends the
   * schedule.
   *
   * @param ids at most 1,000.
   */
  purge(queue: string, ids: readonly string[]): Promise<Purged>
  /**
   * Deletes a job that can be restored for a time, with its log, its attempts and its place among the others. A job that other things depend
   * on is left. A queue keeps at most 20,000 deleted jobs and 64 MiB of them; without room the job is deleted for good.
   */
  deleteJob(queue: string, id: string, undo: UndoOptions): Promise<DeleteOutcome>
  /**
   * Deletes jobs of one state in steps of at most 100 of them, from the oldest or next one; each step is one short command. Ending the loop
   * ends the deletion. Jobs that other things depend on are left. Without `undo` it is final.
   *
   * @example
   * const { queues } = ctx.services
   * const undo = { batch: 'cleanup-7', ms: 600_000 }
   * for await (const { deleted } of queues.deleteJobs('emails', { state: 'failed', before: Date.now() - 86_400_000 }, undo)) log.info({ deleted })
   * for await (const { restored } of queues.restoreJobs('emails', undo.batch)) log.info({ restored })
   */
  deleteJobs(queue: string, range: DeleteRange, undo?: UndoOptions): AsyncIterable<DeletedStep>
  /** Restores the jobs of a batch in steps, with the state, place, options and id that they had. Waiting ones run before others. */
  restoreJobs(queue: string, batch: string): AsyncIterable<RestoredStep>
  /** How many deleted jobs a queue can keep beside those that it keeps. */
  undoRoom(queue: string): Promise<UndoRoom>
  /** Deleted jobs that can still be restored. */
  deletedJobs(queue: string, page: { readonly offset: number; readonly limit: number }): Promise<readonly DeletedJob[]>
  /** A deleted job that can still be restored; undefined: there is none of that id. */
  deletedJob(queue: string, id: string): Promise<DeletedJobDetails | undefined>
  /** Overwrites what removed jobs have left in files of this process; does nothing on Redis. May take seconds for a large store. */
  scrub(): Promise<void>
  /**
   * Removes a waiting job, or aborts the signal of a running one on any node; it then fails with `Cancelled: <reason>`.
   * Takes at most a few seconds for a job on another node.
   *
   * @param options `timeoutMs`: longest wait for the store in each step; then it throws ZIN_DEADLINE. Default: that of the backend.
   *
   * @example
   * const { queues } = ctx.services
   * const { outcome } = await queues.cancel('emails', '42', 'requested by Ann')
   */
  cancel(queue: string, id: string, reason: string, options?: { readonly timeoutMs?: number }): Promise<Cancellation>
  /** Makes the running jobs of a consumer that manages their signals itself cancellable. Returns a function that undoes it. */
  addCanceller(canceller: Canceller): () => void
  /** The next time a cron pattern is due after a time, both in ms since 1970; undefined when never. Throws for an invalid pattern or zone. */
  nextRun(pattern: string, tz: string, after: number): number | undefined
  counts(queue: string): Promise<QueueCounts>
  /** Counts of many queues; one round trip for every 1000 queues. */
  countsOf(queues: readonly string[]): Promise<ReadonlyMap<string, QueueCounts>>
  /**
   * Counts, oldest waiting job and pause of many queues. On Redis one command for each queue, whatever the number of its jobs, and one
   * round trip for every 1000 queues; on the embedded store one query.
   */
  sample(queues: readonly string[]): Promise<ReadonlyMap<string, QueueSample>>
  /**
   * The events of a queue in order and without gaps, read as fast as they are consumed. The stream resumes after a lost connection, and
   * after a restart when `after` is the id of the last event. The store keeps about the last 10,000 events of a queue; a reader that
   * falls further behind gets 410 QUEUE_EVENTS_LOST. The stream starts when this resolves, has its own connection, and ends with its
   * signal, when the loop over it ends, or with the plugin.
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
   * Sets the telemetry of queues and consumers that are created from now on; call it in `setup` to cover all of them. Throws 409
   * QUEUE_TELEMETRY_SET when it is already set. Returns a function that removes it for those created later.
   *
   * @example
   * ctx.services.queues.setTelemetry(telemetry)
   */
  setTelemetry(telemetry: QueueTelemetry): () => void
  /** Jobs of one state: waiting oldest first, finished newest first; the same on both backends. Their parts are as in `job`. */
  list(queue: string, state: ListedState, page: { readonly offset: number; readonly limit: number }): Promise<readonly Job[]>
  /** Since when the oldest waiting job of any priority has been ready, ms since 1970; undefined when none waits. Cheap for any queue length. */
  oldestWaiting(queue: string): Promise<number | undefined>
  /** Names of all queues in the store. */
  names(): Promise<readonly string[]>
  ping(signal?: AbortSignal): Promise<number>
  isUnavailable(error: unknown): boolean
}

export const queuesService = defineService<Queues>('queues')
