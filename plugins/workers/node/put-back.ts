import type { Job } from 'bullmq'

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
