import type { Job } from 'bullmq'
import type { ReadJob } from './contract.js'
import type { ChangedJob, FlowChange } from './flows/contract.js'

/** A request to abort a running job. */
export interface CancelRequest {
  readonly queue: string
  readonly job: string
  /** The error message of the job. */
  readonly reason: string
}

/** Aborts running jobs that the queues cannot abort: those of consumers that manage their own signals, and those on other nodes. */
export interface Canceller {
  /** Aborts a job that runs on this node; false when no job with this id runs here. */
  here(request: CancelRequest): boolean
  /** Aborts a job on another node; true when a node has aborted it. The implementation must bound the time. */
  elsewhere(request: CancelRequest): Promise<boolean>
}

/**
 * The outcome of a cancel. `removed`: the job was waiting and has been removed, with the waiting jobs below it. `failed`: it was waiting and
 * has failed, because its parent would otherwise run as though it had succeeded. `cancelled`: it was running and its signal has been aborted.
 * `orphaned`: no reachable node runs it; it fails instead of being run again. `finished` (see `state`), `scheduled` (the next job of a
 * schedule) and `unknown`: nothing was done.
 */
export type CancelOutcome = 'removed' | 'failed' | 'cancelled' | 'orphaned' | 'finished' | 'scheduled' | 'unknown'

export interface Cancellation {
  readonly outcome: CancelOutcome
  /** The job as last read; absent with `unknown`. */
  readonly job?: Job
  /** Its state, as BullMQ names it. */
  readonly state?: string
  /** The jobs that waited below it and were removed with it. */
  readonly below?: readonly ChangedJob[]
}

/** A job and its state, as BullMQ names it. */
export interface QueueJob {
  readonly job: ReadJob
  readonly state: string
}

export interface CancelParts extends Canceller {
  readonly find: () => Promise<QueueJob | undefined>
  /** Removes the job if it waits and no parent waits for it. */
  readonly remove: () => Promise<FlowChange>
  /** Fails a waiting job, with the usual effect on its parent. Returns the jobs removed below it; undefined if it is no longer waiting. */
  readonly fail: (reason: string) => Promise<readonly ChangedJob[] | undefined>
  /** Marks a running job to fail when it is picked up again. Returns false if it has ended. */
  readonly failNext: (reason: string) => Promise<boolean>
}

/** A job may change its state between two reads; this bounds the retries. */
const maxLooks = 5

const prefix = 'Cancelled: '

/** The error message of a cancelled job: text that every store can store. */
export function cancelReason(reason: string): string {
  return `${prefix}${reason.slice(0, 500).replaceAll(/\0|\p{Surrogate}/gu, '')}`
}

/** Whether a signal was aborted, or a job failed, because the job was cancelled. */
export function isCancelReason(reason: unknown): reason is string {
  return typeof reason === 'string' && reason.startsWith(prefix)
}

/** Removes a waiting job, or aborts a running one on any node. */
export async function cancelJob(request: CancelRequest, parts: CancelParts): Promise<Cancellation> {
  const { elsewhere, fail, failNext, find, here, remove } = parts
  let asked = false
  let found: QueueJob | undefined
  for (let look = 1; look <= maxLooks; look++) {
    found = await find()
    if (found === undefined) return { outcome: 'unknown' }
    const { job, state } = found
    if (state === 'completed' || state === 'failed') return { ...found, outcome: 'finished' }
    if (state === 'active') {
      // Covers a node that is lost now or before the attempt ends: the job is not run again.
      if (!asked && !(await failNext(request.reason))) continue
      if (here(request)) return { ...found, outcome: 'cancelled' }
      // The job is still active, and no node has confirmed that it runs it.
      if (asked) return { ...found, outcome: 'orphaned' }
      if (await elsewhere(request)) return { ...found, outcome: 'cancelled' }
      asked = true
      continue
    }
    // Its parent would wait for ever, or run without it.
    if (job.parentKey !== undefined) {
      const below = await fail(request.reason)
      if (below !== undefined) return { ...found, below, outcome: 'failed' }
      continue
    }
    const { jobs, refused } = await remove()
    if (jobs !== undefined) return { ...found, below: jobs.slice(1), outcome: 'removed' }
    if (refused === 'scheduled') return { ...found, outcome: 'scheduled' }
  }
  return { ...found, outcome: 'orphaned' }
}
