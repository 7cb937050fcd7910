import type { Job } from 'bullmq'
import { messageOf } from 'zin'

/** The abort reason of an attempt whose job a job middleware puts back. */
export class PutBack extends Error {}

/**
 * Returns a job to its queue without using up one of its attempts. Resolves to the error that the attempt must end with, which is `error`
 * itself if the job could not be moved.
 */
export async function putBack(job: Job, token: string | undefined, error: Error): Promise<Error> {
  try {
    await job.moveToWait(token)
  } catch {
    return error
  }
  const waiting = new Error('returned to the queue by its worker', { cause: error })
  waiting.name = 'WaitingError'
  return waiting
}

/** Like {@link putBack}, but the job is delayed by `ms`. */
export async function putOff(job: Job, token: string | undefined, ms: number): Promise<Error> {
  try {
    await job.moveToDelayed(Date.now() + ms, token)
  } catch (error) {
    return new Error(`the job could not be delayed: ${messageOf(error)}`, { cause: error })
  }
  const delayed = new Error(`delayed by ${ms} ms`)
  delayed.name = 'DelayedError'
  return delayed
}
