import type { Job } from 'bullmq'
import { messageOf } from 'zin'

/** The reason that the signal of an attempt is aborted with when a job middleware gives the job back. */
export class PutBack extends Error {}

/**
 * Gives a job back to its queue without using up one of its attempts. It resolves to what the attempt must end with: `error` when
 * the job did not go back.
 */
export async function putBack(job: Job, token: string | undefined, error: Error): Promise<Error> {
  try {
    await job.moveToWait(token)
  } catch {
    return error
  }
  const waiting = new Error('put back by its worker', { cause: error })
  waiting.name = 'WaitingError'
  return waiting
}

/** The same for a job that may run again after `ms` at the earliest. */
export async function putOff(job: Job, token: string | undefined, ms: number): Promise<Error> {
  try {
    await job.moveToDelayed(Date.now() + ms, token)
  } catch (error) {
    return new Error(`the job could not be put off: ${messageOf(error)}`, { cause: error })
  }
  const delayed = new Error(`put off for ${ms} ms`)
  delayed.name = 'DelayedError'
  return delayed
}
