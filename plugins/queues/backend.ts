import type {
  FlowProducer,
  Job,
  KeepJobs,
  Processor,
  Queue,
  QueueEvents,
  QueueEventsOptions,
  QueueOptions,
  Worker,
  WorkerOptions,
} from 'bullmq'
import type { ListedState, QueueCounts } from './contract.js'

export interface Claim {
  readonly token: string
  readonly lockMs: number
  /** Why it fails. */
  readonly reason: string
}

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
  /** Jobs of a state in the order of the contract. */
  page(queue: Queue, state: ListedState, offset: number, limit: number): Promise<readonly Job[]>
  /** In one round trip, in the order of the queues. */
  counts(queues: readonly Queue[]): Promise<readonly QueueCounts[]>
  /** The id of the newest event; undefined when the queue has no events. */
  lastEvent(queue: Queue): Promise<string | undefined>
  /** Whether an event is still stored. */
  hasEvent(queue: Queue, id: string): Promise<boolean>
  /** The next waiting job among those whose priority number is above this one; a job without a priority has 0. */
  firstAbove(queue: Queue, priority: number): Promise<Job | undefined>
  /** Moves a waiting job of any kind to active under this lock, marked to fail when a worker picks it up. False when it is not waiting. */
  claim(queue: Queue, id: string, claim: Claim): Promise<boolean>
  /** Marks an unfinished job to fail when a worker picks it up. False when no such job exists. */
  failNext(queue: Queue, id: string, reason: string): Promise<boolean>
  /** Records that a queue exists. */
  remember(name: string): void
  names(): Promise<readonly string[]>
  /** Retention of finished jobs, in the form that this store handles efficiently. */
  keep(wanted: KeepJobs): KeepJobs
  ping(signal: AbortSignal | undefined): Promise<void>
  isUnavailable(error: unknown): boolean
  close(): Promise<void>
}
