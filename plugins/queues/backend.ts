import type {
  FlowProducer,
  IQueueBackend,
  Job,
  JobJson,
  KeepJobs,
  Processor,
  Queue,
  QueueEvents,
  QueueEventsOptions,
  QueueOptions,
  Worker,
  WorkerOptions,
} from 'bullmq'
import type { DataStore } from 'zin'
import type { ListedState, LogPage, QueueCounts, QueueSample } from './contract.js'
import type { DeletionBackend } from './deletion/contract.js'
import type { FlowBackend } from './flows/contract.js'
import type { ScheduleBackend } from './schedules/contract.js'
import type { SearchBackend } from './search/contract.js'

export interface Claim {
  readonly token: string
  readonly lockMs: number
  /** Why it fails. */
  readonly reason: string
}

/** The parts of a job or of a schedule's template in stored form: JSON, except for the error and the log lines. */
export interface StoredParts {
  readonly data?: string
  readonly result?: string
  readonly progress?: string
  readonly error?: string
  readonly stacks?: string
  /** Oldest first. */
  readonly logs: readonly string[]
}

/** Identifies a job, a deleted job, or the template of a schedule. */
export interface PartsOf {
  readonly queue: Queue
  readonly id: string
  readonly kind: 'job' | 'deleted' | 'schedule'
}

/** Maximum number of lines that the log of a job keeps, and of their bytes. Older lines are dropped. */
export const mostLogLines = 10_000
export const mostLogBytes = 16 * 2 ** 20

/** What identifies a job to the methods for its log and its lock. */
export interface LogOf {
  readonly queueName: string
  readonly id: string
  /** Key names as in BullMQ. */
  readonly toKey: (key: string) => string
}

/** The lock of a running job that its worker could not renew in time. */
export interface LateLock {
  readonly token: string
  readonly ms: number
  /** When the attempt was started, in ms since 1970: a later one belongs to another worker. */
  readonly since: number
}

/** Stored lines of a log. */
export interface StoredLogs {
  readonly lines: readonly string[]
  readonly count: number
  /** Number of the first of `lines`, counted from the first line that was ever written. */
  readonly offset: number
  readonly dropped: number
}

/** Maximum number of running jobs of a queue whose start is read. */
export const mostRunning = 1_000

/** What the two stores do differently. */
export interface QueueBackend {
  readonly kind: 'redis' | 'embedded'
  /** For messages; never contains user or password. */
  readonly where: string
  makeQueue(name: string, options: Omit<QueueOptions, 'connection' | 'prefix'>): Queue
  makeWorker(name: string, processor: Processor, options: Omit<WorkerOptions, 'connection' | 'prefix'>): Worker
  makeEvents(name: string, options?: Pick<QueueEventsOptions, 'autorun'>): QueueEvents
  makeFlow(options?: Pick<QueueOptions, 'telemetry'>): FlowProducer
  /** Waits briefly for a lost connection; rejects when it is not restored. */
  ready(): Promise<void>
  /** Jobs of a state in the order of the contract; without `payload` their data, results and stacks are not read. */
  page(queue: Queue, state: ListedState, offset: number, limit: number, payload: boolean): Promise<readonly Job[]>
  /** The same without payloads, from the job after the last of these ids that is still in the list; from the start if none is. */
  pageAfter(queue: Queue, state: ListedState, after: readonly string[], limit: number): Promise<readonly Job[]>
  /** Counts of queues by name, in one round trip, in the order of the names. */
  counts(queues: readonly string[]): Promise<readonly QueueCounts[]>
  /** Samples in one round trip, in the order of the names. */
  samples(queues: readonly string[]): Promise<readonly QueueSample[]>
  /** Start times of the running jobs of queues, longest first and at most {@link mostRunning} of each, in one round trip. */
  running(queues: readonly string[]): Promise<readonly (readonly number[])[]>
  /** Those of the queues that have schedules, in one round trip. */
  scheduled(queues: readonly string[]): Promise<readonly string[]>
  /** Whether this process takes the turn of a task that one process of the app does each `ms`. */
  takesTurn(task: string, ms: number): Promise<boolean>
  /** The time by the clock of the store, in ms since 1970. */
  time(): Promise<number>
  /** The id of the newest event; undefined when the queue has no events. */
  lastEvent(queue: Queue): Promise<string | undefined>
  /** Whether every event after this one is still stored: true if an event as old or older exists. */
  reachesBack(queue: Queue, id: string): Promise<boolean>
  /** The next waiting job among those whose priority number is above this one; a job without a priority has 0. */
  firstAbove(queue: Queue, priority: number): Promise<Job | undefined>
  /** Moves a waiting job of any kind to active under this lock, marked to fail when a worker picks it up. False when it is not waiting. */
  claim(queue: Queue, id: string, claim: Claim): Promise<boolean>
  /** Marks an unfinished job to fail when a worker picks it up. False when no such job exists. */
  failNext(queue: Queue, id: string, reason: string): Promise<boolean>
  /** Adds a job, atomically after it has replaced the data of a waiting job with its deduplication id. Returns the id of the job that counts. */
  addReplacing(queue: Queue, job: JobJson, id: string): Promise<string>
  /** Forgets the job that `keep-latest` or `debounce` would add when the running one with this deduplication id has ended. */
  dropNext(queue: Queue, deduplicationId: string): Promise<void>
  /** By job id: the option `addition` of those jobs that exist. */
  additions(queue: Queue, ids: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>
  /**
   * Appends a line to the log of a job, and drops lines beyond the limits. Returns the number of lines that are kept, undefined if the job
   * does not exist.
   *
   * @param through the backend of the job's own queue or worker, whose connection is used.
   */
  addLog(job: LogOf, line: string, through: IQueueBackend): Promise<number | undefined>
  readLogs(job: LogOf, page: LogPage): Promise<StoredLogs>
  /** Takes the lock of a job again, unless another worker has taken the job, or it waits. Returns whether the caller has the lock. */
  relock(job: LogOf, lock: LateLock): Promise<boolean>
  /** Stores that a job with this key, if it exists, is ready now. */
  noteReady(key: string): Promise<void>
  /** When delayed jobs become ready, in ms since 1970, in the order of the ids; undefined for others. */
  dueAt(queue: Queue, ids: readonly string[]): Promise<readonly (number | undefined)[]>
  readParts(of: PartsOf): Promise<StoredParts | undefined>
  /** Replaces the parts of a job. Returns false, and changes nothing, if the job is running or no longer has the parts `before`. */
  writeParts(of: PartsOf, before: StoredParts, after: StoredParts): Promise<boolean>
  /** Removes the traces of removed jobs: their events, and the copies of their results that their parents hold. */
  removeTraces(queue: Queue, jobs: readonly Pick<Job, 'id' | 'parentKey'>[]): Promise<void>
  /** Changes jobs together with those that they wait for. */
  readonly flows: FlowBackend
  /** Deletes jobs in steps, and restores them for a time. */
  readonly deletion: DeletionBackend
  /** Finds jobs by declared fields of their data. */
  readonly search: SearchBackend
  readonly schedules: ScheduleBackend
  /** Everything in the store, to be moved; `indexed` adds jobs to the index of their declared fields. */
  data(
    indexed: ((queue: string, jobs: readonly { readonly id: string; readonly data: unknown }[]) => Promise<void>) | undefined,
  ): Promise<DataStore>
  /** A text that the store keeps beside its queues, and loses when jobs are imported; undefined if none was set. */
  note(name: string): Promise<string | undefined>
  setNote(name: string, text: string): Promise<void>
  /** Which processes of the app use the store, if it is shared. */
  users(): Promise<string | undefined>
  /** Overwrites the remains of removed jobs in the files of this process. */
  scrub(): Promise<void>
  /** Records that a queue exists. */
  remember(name: string): void
  names(): Promise<readonly string[]>
  /** Retention of finished jobs, in the form that this store handles efficiently. */
  keep(wanted: KeepJobs): KeepJobs
  ping(signal: AbortSignal | undefined): Promise<void>
  isUnavailable(error: unknown): boolean
  /** Whether an error that means "unavailable" proves that a single command was not run. */
  isUnsent(error: unknown): boolean
  close(): Promise<void>
}
