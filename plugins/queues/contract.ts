import type {
  DeduplicationOptions,
  FlowJob,
  FlowProducer,
  Job,
  JobNode,
  JobsOptions,
  Processor,
  Queue,
  QueueEvents,
  Worker,
  WorkerOptions,
} from 'bullmq'
import { defineService, type SlotOf } from 'zin'
import type { JobBackoff } from './backoff.js'
import type { Cancellation, Canceller, QueueJob } from './cancel.js'
import type { Copying } from './copying.js'
import type { JobDeduplication } from './deduplication.js'
import type {
  CountedJobs,
  CountOptions,
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
import type { Flows } from './flows/contract.js'
import type { JobTextPart, QueueHooks } from './hooks.js'
import type { Schedule, ScheduleTiming } from './schedules/timing.js'
import type { FoundJobs } from './search/contract.js'
import type { QueueTelemetry } from './telemetry.js'
import type { JobViews } from './views.js'

/** Jobs of one queue by state. `waiting` counts plain and prioritised jobs, paused or not. */
export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly completed: number
  readonly failed: number
  readonly waitingChildren: number
}

/** The state of a queue at one moment. */
export interface QueueSample {
  readonly counts: QueueCounts
  readonly paused: boolean
  /** When the oldest waiting job became ready, in ms since 1970; undefined if none is waiting. */
  readonly oldestWaiting: number | undefined
  /** Delayed jobs that were due more than 5 s ago by the clock of the store, on Redis: a worker that fetches moves them. */
  readonly overdue?: number
  /** Why the queue could not be read although the store responds: another program has overwritten one of its keys. The rest is zero. */
  readonly broken?: string
}

/** The options of a job. */
export type JobOptions = Omit<JobsOptions, 'backoff' | 'deduplication'> & {
  /** When a failed job is tried again; a number is a fixed delay in ms. The wait is at most 24 h, or `max`. Default: at once. */
  readonly backoff?: number | JobBackoff
  /** Keeps the job from being added twice: with a mode of the queues, or with BullMQ's own options. */
  readonly deduplication?: JobDeduplication | DeduplicationOptions
  /** The data subject of the job, such as the id of a person. Stored with the job for other plugins; the queues do not use it. */
  readonly subject?: string
}

/** A job to add. */
export interface NewJob {
  readonly name: string
  /** JSON. */
  readonly data?: unknown
  readonly options?: JobOptions
}

/** An added job, or the one that exists already. */
export type AddedJob = Job & {
  /**
   * Whether no job was added, because one with the same `jobId` or deduplication id exists: `id` is its id. The other fields are those of the
   * call, not of the existing job.
   */
  readonly deduplicated: boolean
}

/** A job that was read. */
export type ReadJob = Job & {
  /** When a delayed job becomes ready, in ms since 1970, also one that waits for a retry. */
  readonly readyAt?: number
}

/** A page of a job's log. */
export interface LogPage {
  /** Number of the first line, from 0; it stays the same when older lines are dropped. Negative: that many lines from the end. */
  readonly offset: number
  readonly limit: number
}

/** Lines of a job's log. */
export interface JobLogs {
  /** Oldest first. */
  readonly logs: readonly string[]
  /** Number of all stored lines. */
  readonly count: number
  /** Number of the first line of `logs`. */
  readonly offset: number
  /** How many of the oldest lines were dropped: a job keeps the last 10,000 lines and 16 MiB of them. */
  readonly dropped: number
}

/** The template for each job of a schedule. */
export type JobTemplate = NewJob

export interface Purged {
  /** Ids of jobs that this call removed, and no other call beside it, including deleted jobs that could still have been restored. */
  readonly removed: readonly string[]
  /** Ids of jobs that were not removed because they are running. */
  readonly running: readonly string[]
}

/** What is stored of a job that is about to be purged: its data is in stored form. */
export type PurgedData = Pick<DeletedJob, 'queueName' | 'data' | 'timestamp'> & { readonly opts: object }

export interface PurgeOptions {
  /**
   * Only jobs for which this returns true, which is asked about each job as it is stored, live or deleted. An id says nothing about whose job it
   * is: it can be that of a later one. Default: all jobs.
   */
  readonly only?: (job: PurgedData) => boolean | Promise<boolean>
  /**
   * Whether jobs count as waiting whose lock has ended, because their process has ended or is blocked; see `unlocked`. If it ends one of them
   * later, the outcome is refused, and nothing of it is stored. Default false.
   */
  readonly unlocked?: boolean
}

export interface RewriteOptions {
  /** `deleted`: a deleted job that can still be restored. Default `job`. */
  readonly kind?: 'job' | 'deleted' | 'schedule'
  /** Selects the parts to rewrite, by their stored form. Default: all. */
  readonly only?: (stored: unknown) => boolean
}

export type RewriteOutcome = 'rewritten' | 'unchanged' | 'busy' | 'unknown'

/** A page of a list of jobs. */
export interface ListPage {
  /** Default 0; without effect with `after`. */
  readonly offset?: number
  readonly limit: number
  /**
   * The page begins after the last of these jobs that is still in the list, from the start if none is; its jobs are read without payloads.
   * With the ids of the last few jobs that a loop has left in the list, it misses none while other jobs leave the list. At most 20.
   */
  readonly after?: readonly string[]
  /** False: `data`, `returnvalue` and `stacktrace`, which may be as large as a job, are not read. Default true. */
  readonly payload?: boolean
}

export type ListedState = 'waiting' | 'active' | 'delayed' | 'waiting-children' | 'completed' | 'failed'

/** BullMQ queues on Redis or on the embedded store, which behave the same. */
export interface Queues extends Flows, Copying {
  readonly backend: 'redis' | 'embedded'
  /** Decides who sees the payloads of jobs, redacts them, and reports each view. */
  readonly views: JobViews
  /**
   * Drops the data that replaced those of the running job with this deduplication id (`keep-latest`, `debounce`), so that it does not run again
   * with them.
   */
  dropNext(queue: string, deduplicationId: string): Promise<void>
  /** The hook `beforeJobRetry`, to be called before a failed job is retried for somebody; nothing to call if it is not active. */
  readonly retryGate: SlotOf<QueueHooks['beforeJobRetry']>
  /** The producer for a queue: one per name, shared and owned by this plugin. */
  queue(name: string): Queue
  /**
   * A consumer with its own connection. Its processor receives and returns original payloads; the payload hooks run around it. A result
   * that not every store can hold fails the job permanently. The worker closes with the plugin unless its owner closes it earlier.
   */
  worker(name: string, processor: Processor, options?: Omit<WorkerOptions, 'connection' | 'prefix'>): Worker
  /** Events of a queue; owned by the caller, closed with the plugin at the latest. */
  events(name: string): QueueEvents
  /**
   * Runs a change through BullMQ's own objects, such as `job.retry()`, with the deadline and the errors of the methods here. It must make no
   * difference when it is repeated.
   */
  change<T>(work: () => Promise<T>): Promise<T>
  /** The producer of flows (job trees), shared and owned by this plugin. */
  flow(): FlowProducer
  /**
   * Adds a job with the app's retention defaults (completed 1000 or 24 h, failed 7 days). Throws ZinErrors: 400 QUEUE_INVALID_JOB,
   * 413 PAYLOAD_TOO_LARGE, 503 QUEUE_CONNECTION_ERROR: it was not added; 503 JOB_OUTCOME_UNKNOWN: it may have been. With a `jobId`, adding
   * it again is safe: as long as the job is kept, it is not added twice. Without one, it gets an id that is unique over all queues.
   */
  add(queue: string, jobName: string, data: unknown, options?: JobOptions): Promise<AddedJob>
  /** Makes an id for a job: unique over all queues and processes, and sorting by time. */
  newId(): string
  /**
   * Adds jobs atomically in one round trip, with the checks and retention of `add`. The deduplication modes `keep-latest` and `debounce` are
   * refused.
   *
   * @example
   * const { queues } = ctx.services
   * await queues.addBulk('emails', [{ name: 'welcome', data: { to: 'a@example.com' } }, { name: 'digest' }])
   */
  addBulk(queue: string, jobs: readonly NewJob[]): Promise<readonly AddedJob[]>
  /** Adds a tree of jobs atomically, with the checks and retention of `add`. A job runs when its children are done. */
  addFlow(flow: FlowJob): Promise<JobNode>
  /**
   * Adds or replaces the recurring job `id` of a queue, with the checks and retention of `add`. A schedule that is stored already stays as
   * it is. Returns the job that it runs next; undefined when the schedule has ended. Throws 400 QUEUE_INVALID_SCHEDULE and
   * QUEUE_SCHEDULE_DEDUPLICATION.
   *
   * @example
   * const { queues } = ctx.services
   * const timing = { pattern: '30 2 * * *', tz: 'Europe/Berlin', overlap: 'skip', catchUp: 'one' } as const
   * await queues.schedule('reports', 'nightly', timing, { name: 'report', data: { kind: 'daily' } })
   */
  schedule(queue: string, id: string, timing: ScheduleTiming, template: JobTemplate): Promise<Job | undefined>
  /** Whether a schedule is stored already as `schedule` would store it, and goes on as it says. Throws what `schedule` throws. */
  isScheduled(queue: string, id: string, timing: ScheduleTiming, template: JobTemplate): Promise<boolean>
  /** The schedules of a queue in the terms in which they were given, by the time of their next run. The data of a template is in stored form. */
  schedules(queue: string): Promise<readonly Schedule[]>
  /**
   * Fails a waiting job permanently and at once, as a worker would. Its parent handles the failure according to its options, and its
   * waiting children are removed. Returns false if the job is running, has ended or does not exist.
   */
  fail(queue: string, id: string, reason: string): Promise<boolean>
  /**
   * Makes a running job fail when it is picked up again. Its current attempt continues and can still complete. Returns false if the job
   * has ended or does not exist.
   */
  failNext(queue: string, id: string, reason: string): Promise<boolean>
  /**
   * A job and its BullMQ state; undefined if the id is unknown. Its payloads are in stored form. Its error, stacks and progress are the
   * originals, or the reason why they cannot be restored.
   */
  job(queue: string, id: string): Promise<QueueJob | undefined>
  /** The fields declared by the option `search`, by queue. */
  readonly searchFields: Readonly<Record<string, readonly string[]>>
  /**
   * Finds jobs in any state by the values of declared fields in their data. A field that contains a list matches each of its values. The
   * jobs have the same form as in `job`. Throws 400 QUEUE_FIELD_UNKNOWN.
   *
   * @param values by the path of the field; a job must match all of them.
   * @param options `limit`: maximum number of index entries that are looked up.
   *
   * @example
   * const { jobs } = await ctx.services.queues.find('orders', { 'customer.id': '4711' }, { limit: 20 })
   */
  find(queue: string, values: Readonly<Record<string, string>>, options: { readonly limit: number }): Promise<FoundJobs>
  /** The original data of a job. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredData(job: Pick<Job, 'queueName' | 'data'>): Promise<unknown>
  /** The original result of a completed job. Throws 500 JOB_PAYLOAD_UNREADABLE. */
  restoredResult(job: Pick<Job, 'queueName' | 'returnvalue'>): Promise<unknown>
  /** Converts a text about a job that a plugin stores itself, such as an error, to its stored form. */
  storedText(queue: string, text: string, part: JobTextPart): Promise<string>
  /** The original of a stored text, or the reason why it cannot be restored. */
  restoredText(queue: string, text: string, part: JobTextPart): Promise<string>
  /** The original lines of a job's log, oldest first; a line that cannot be restored is replaced by the reason. */
  logs(queue: string, id: string, page: LogPage): Promise<JobLogs>
  /**
   * Restores the stored parts of a job through the hooks and stores them again: its payload, result, progress, error, stacks and log. Used
   * when the stored form changes, for example when a plugin rotates keys. The state of the job and the time of its next run stay the same.
   *
   * @param id of a job, or of a schedule with `kind: 'schedule'`; then the payload of its template is rewritten.
   * @param options `only`: receives the stored form of a part (parsed JSON, or text) and returns whether to rewrite it. Default: all parts.
   * @returns `busy` if the job is running, or changed while it was read; retry later. Throws 500 JOB_PAYLOAD_UNREADABLE and changes nothing.
   */
  rewrite(queue: string, id: string, options?: RewriteOptions): Promise<RewriteOutcome>
  /**
   * Removes jobs that are not running, with everything that is stored about them, including their events and the copies of their results
   * that their parents hold. A waiting child fails first, so that its parent does not wait forever. Purging the next job of a schedule ends
   * the schedule.
   *
   * @param ids at most 1,000.
   *
   * @example
   * const { queues } = ctx.services
   * await queues.purge('emails', ['42'], {
   *   only: async (job) => ((await queues.restoredData(job)) as { user?: string }).user === 'ann',
   * })
   */
  purge(queue: string, ids: readonly string[], options?: PurgeOptions): Promise<Purged>
  /**
   * Those of some running jobs whose lock has ended: their process has ended, or is blocked. A process that can go on takes the lock again, so
   * look twice, at least 30 s apart. Takes one round trip.
   *
   * @param ids at most 1,000.
   */
  unlocked(queue: string, ids: readonly string[]): Promise<readonly string[]>
  /**
   * Deletes a job so that it can be restored for a limited time, with its log, its attempts and its position. A job on which a parent, a
   * child or a schedule depends is not deleted. A queue keeps at most 20,000 deleted jobs and 64 MiB of them; beyond that, the deletion is
   * permanent.
   */
  deleteJob(queue: string, id: string, undo: UndoOptions): Promise<DeleteOutcome>
  /**
   * Deletes jobs of one state in steps of at most 100, starting with the oldest job or the next one to run; each step is one short command.
   * Ending the loop ends the deletion. Jobs on which a parent, a child or a schedule depends are not deleted. Without `undo`, the deletion is
   * permanent.
   *
   * @example
   * const { queues } = ctx.services
   * const undo = { batch: 'cleanup-7', ms: 600_000 }
   * for await (const { deleted } of queues.deleteJobs('emails', { state: 'failed', before: Date.now() - 86_400_000 }, undo)) log.info({ deleted })
   * for await (const { restored } of queues.restoreJobs('emails', undo.batch)) log.info({ restored })
   */
  deleteJobs(queue: string, range: DeleteRange, undo?: UndoOptions): AsyncIterable<DeletedStep>
  /**
   * Counts the jobs of a range in steps, by what an action on them depends on, however many there are. `restorable` is how many of the free
   * ones a deletion with undo could restore, given the room.
   */
  countJobs(queue: string, range: DeleteRange, room: UndoRoom, options: CountOptions): AsyncIterable<CountedJobs>
  /** Restores the jobs of a batch in steps, with their previous state, position, options and id. Restored waiting jobs run before others. */
  restoreJobs(queue: string, batch: string): AsyncIterable<RestoredStep>
  /** How many more deleted jobs, and bytes of them, a queue can keep. */
  undoRoom(queue: string): Promise<UndoRoom>
  /** Deleted jobs that can still be restored. */
  deletedJobs(queue: string, page: { readonly offset: number; readonly limit: number }): Promise<readonly DeletedJob[]>
  /** A deleted job that can still be restored; undefined if none has this id. */
  deletedJob(queue: string, id: string): Promise<DeletedJobDetails | undefined>
  /** Whether a job that was added at this time, in ms since 1970, was purged within the last hour: whoever has read it must not store it again. */
  isErased(queue: string, id: string, addedAt: number): Promise<boolean>
  /**
   * A short text that the store keeps beside its queues; undefined if none was set, or jobs were imported since. Whoever keeps the same text
   * elsewhere notices that the store was set back to a copy.
   */
  note(name: string): Promise<string | undefined>
  setNote(name: string, text: string): Promise<void>
  /** Overwrites the remains of removed jobs in the files of this process; does nothing on Redis. May take seconds for a large store. */
  scrub(): Promise<void>
  /**
   * Removes a waiting job, or aborts the signal of a running one on any node; it then fails with `Cancelled: <reason>`.
   * Takes at most a few seconds for a job on another node.
   *
   * @param options `timeoutMs`: deadline of each store call, after which it throws ZIN_DEADLINE. Default: that of the backend.
   *
   * @example
   * const { queues } = ctx.services
   * const { outcome } = await queues.cancel('emails', '42', 'requested by Ann')
   */
  cancel(queue: string, id: string, reason: string, options?: { readonly timeoutMs?: number }): Promise<Cancellation>
  /** Makes the running jobs of a consumer that manages its signals itself cancellable. Returns a function that removes the canceller. */
  addCanceller(canceller: Canceller): () => void
  /**
   * The next time after `after` at which a cron pattern is due, both in ms since 1970; undefined if never. A local time that the clock skips
   * is due later by the gap, one that occurs twice only the first time, and a pattern for all hours in both. Throws for an invalid pattern or
   * zone.
   */
  nextRun(pattern: string, tz: string, after: number): number | undefined
  counts(queue: string): Promise<QueueCounts>
  /** Counts of many queues; one round trip per 1000 queues. */
  countsOf(queues: readonly string[]): Promise<ReadonlyMap<string, QueueCounts>>
  /**
   * Counts, oldest waiting job and pause state of many queues. On Redis this takes one command per queue, however many jobs it has, and one
   * round trip per 1000 queues; on the embedded store, one query.
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
  /** Jobs of one state: waiting oldest first, finished newest first; the same on both backends. They have the same form as in `job`. */
  list(queue: string, state: ListedState, page: ListPage): Promise<readonly ReadJob[]>
  /** When the oldest waiting job of any priority became ready, in ms since 1970; undefined if none is waiting. Cheap for any queue length. */
  oldestWaiting(queue: string): Promise<number | undefined>
  /**
   * When the running jobs of many queues started, in ms since 1970, longest first: at most 1,000 of each queue. One round trip per 1000
   * queues. The times are those of the nodes that run the jobs.
   */
  runningSince(queues: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>
  /** Names of all queues in the store. */
  names(): Promise<readonly string[]>
  /** Checks that the store can be written. Integer ms; rejects with QUEUE_DISK_FULL or QUEUE_CONNECTION_ERROR if it cannot. */
  ping(signal?: AbortSignal): Promise<number>
  isUnavailable(error: unknown): boolean
}

export const queuesService = defineService<Queues>('queues')
