import type { Job } from 'bullmq'
import { messageOf } from 'zin'

/** A running job that somebody should abort. */
export interface CancelRequest {
  readonly queue: string
  readonly job: string
  /** What the job fails with. */
  readonly reason: string
}

/** Reaches running jobs that the queues cannot: those of consumers which keep the signals of their jobs, and those of other nodes. */
export interface Canceller {
  /** Aborts a job that runs in this process; false when none of that id does. */
  here(request: CancelRequest): boolean
  /** Asks the other nodes; true when one runs the job and has aborted it. Bounded in time by whoever implements it. */
  elsewhere(request: CancelRequest): Promise<boolean>
}

/**
 * What came of a cancel. `removed`: it was waiting and is gone, with the jobs that it waits for. `failed`: it was waiting, and fails,
 * because its parent would otherwise run as though it had succeeded. `cancelled`: it was running and its signal is aborted.
 * `orphaned`: it runs where nobody answers; it fails instead of being run again. `finished`, `scheduled` (the next job of a
 * schedule) and `unknown`: nothing was done.
 */
export type CancelOutcome = 'removed' | 'failed' | 'cancelled' | 'orphaned' | 'finished' | 'scheduled' | 'unknown'

export interface Cancellation {
  readonly outcome: CancelOutcome
  /** The job as it was found last; absent with `unknown`. */
  readonly job?: Job
  /** BullMQ's name of its state. */
  readonly state?: string
}

/** A job and BullMQ's name of its state. */
export interface QueueJob {
  readonly job: Job
  readonly state: string
}

export interface CancelParts extends Canceller {
  readonly find: () => Promise<QueueJob | undefined>
  /** False when a job of the tree runs. */
  readonly remove: (job: Job, removeChildren: boolean) => Promise<boolean>
  /** Fails a job that waits, with what that does to its parent. False when it does not wait any more. */
  readonly fail: (reason: string) => Promise<boolean>
  /** Notes on a running job that it fails when it is taken up again. False when it has ended. */
  readonly failNext: (reason: string) => Promise<boolean>
}

/** A job may begin or end while it is looked at; more often than this it does not. */
const maxLooks = 5

const prefix = 'Cancelled: '

/** The error of a job that somebody cancels: text that every store can keep. */
export function cancelReason(reason: string): string {
  return `${prefix}${reason.slice(0, 500).replaceAll(/\0|\p{Surrogate}/gu, '')}`
}

/** Whether a signal was aborted, or a job failed, because somebody cancelled the job. */
export function isCancelReason(reason: unknown): reason is string {
  return typeof reason === 'string' && reason.startsWith(prefix)
}

/** Removes a job that waits, or aborts one that runs, wherever it does. */
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
      // Also when its process is gone, or goes before the attempt ends: nobody runs it again.
      if (!asked && !(await failNext(request.reason))) continue
      if (here(request)) return { ...found, outcome: 'cancelled' }
      // It was asked for already, and still runs where nobody answers.
      if (asked) return { ...found, outcome: 'orphaned' }
      if (await elsewhere(request)) return { ...found, outcome: 'cancelled' }
      asked = true
      continue
    }
    // Stores differ in which of these they would remove.
    if (job.repeatJobKey !== undefined) return { ...found, outcome: 'scheduled' }
    if (job.parentKey !== undefined) {
      if (await fail(request.reason)) return { ...found, outcome: 'failed' }
      continue
    }
    if (await remove(job, true)) return { ...found, outcome: 'removed' }
    // One of the jobs that it waits for runs: that one ends for nobody, and those that wait with it run on.
    if (state === 'waiting-children' && (await remove(job, false))) return { ...found, outcome: 'removed' }
  }
  return { ...found, outcome: 'orphaned' }
}

/** BullMQ tells what runs, or what holds a child that runs, only in words. */
export async function removed(job: Job, removeChildren: boolean): Promise<boolean> {
  try {
    await job.remove({ removeChildren })
    return true
  } catch (error) {
    if (/could not be removed because it is locked/.test(messageOf(error))) return false
    throw error
  }
}
