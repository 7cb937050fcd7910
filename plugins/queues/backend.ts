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
  /** For messages; never user or password. */
  readonly where: string
  makeQueue(name: string, options: Omit<QueueOptions, 'connection' | 'prefix'>): Queue
  makeWorker(name: string, processor: Processor, options: Omit<WorkerOptions, 'connection' | 'prefix'>): Worker
  makeEvents(name: string, options?: Pick<QueueEventsOptions, 'autorun'>): QueueEvents
  makeFlow(options?: Pick<QueueOptions, 'telemetry'>): FlowProducer
  /** Waits a short time for a lost connection; rejects when it does not come back. */
  ready(): Promise<void>
  /** Jobs of a state in the order of the contract. */
  page(queue: Queue, state: ListedState, offset: number, limit: number): Promise<readonly Job[]>
  /** In one round trip, in the order of the queues. */
  counts(queues: readonly Queue[]): Promise<readonly QueueCounts[]>
  /** The id of the newest event; undefined: there is none. */
  lastEvent(queue: Queue): Promise<string | undefined>
  /** Whether an event is still stored. */
  hasEvent(queue: Queue, id: string): Promise<boolean>
  /** The waiting job that runs first among those whose number of priority is above this one; 0 is that of a job without one. */
  firstAbove(queue: Queue, priority: number): Promise<Job | undefined>
  /** Makes a job that waits in any way an active one under that lock, which is to fail whoever has it next. False: it does not wait. */
  claim(queue: Queue, id: string, claim: Claim): Promise<boolean>
  /** Notes on a job that has not ended that whoever takes it up next fails it. False: there is none. */
  failNext(queue: Queue, id: string, reason: string): Promise<boolean>
  /** Notes that a queue exists. */
  remember(name: string): void
  names(): Promise<readonly string[]>
  /** How long ended jobs are kept, in the form that this store does well. */
  keep(wanted: KeepJobs): KeepJobs
  ping(signal: AbortSignal | undefined): Promise<void>
  isUnavailable(error: unknown): boolean
  close(): Promise<void>
}
