import type { FlowProducer, Job, JobsOptions, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq'
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
  counts(queue: string): Promise<QueueCounts>
  /** Jobs of one state: waiting oldest first, finished newest first; the same on both backends. */
  list(queue: string, state: ListedState, page: { readonly offset: number; readonly limit: number }): Promise<readonly Job[]>
  /** Names of all queues that exist in the store. */
  names(): Promise<readonly string[]>
  ping(signal?: AbortSignal): Promise<number>
  isUnavailable(error: unknown): boolean
}

export const queuesService = defineService<Queues>('queues')
