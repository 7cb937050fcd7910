import type { Queues } from 'zin/plugins/queues'
import type { SubjectIndex } from '../store/subject-index.js'

export interface PruneParts {
  readonly queues: Queues
  readonly index: SubjectIndex
  /** ms since 1970. */
  readonly before: number
}

const atOnce = 200

/** Removes a bounded number of old entries of the index whose jobs no longer exist. */
export async function pruneIndex({ before, index, queues }: PruneParts): Promise<void> {
  const entries = await index.olderThan(before, atOnce)
  for (const { job, queue } of entries) {
    const exists = job.startsWith('@')
      ? (await queues.queue(queue).getJobScheduler(job.slice(1))) !== undefined
      : (await queues.job(queue, job)) !== undefined
    if (!exists) await index.remove(queue, [job])
  }
}
