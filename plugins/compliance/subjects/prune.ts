import type { Queues } from 'zin/plugins/queues'
import type { SubjectIndex } from '../store/subject-index.js'

export interface PruneParts {
  readonly queues: Queues
  readonly index: SubjectIndex
  /** Entries older than this are checked, in ms since 1970. */
  readonly before: number
  /** Current time, in ms since 1970. */
  readonly now: number
}

const atOnce = 200
/** Entries that are checked concurrently. */
const checkedAtOnce = 20

/**
 * Removes old index entries whose jobs no longer exist and cannot be restored, a bounded number per call. Other entries become new again, so
 * that they do not keep later calls from reaching further ones.
 */
export async function pruneIndex({ before, index, now, queues }: PruneParts): Promise<void> {
  const kept = new Map<string, Set<string>>()
  const gone = new Map<string, Set<string>>()
  const entries = await index.olderThan(before, atOnce)
  for (let from = 0; from < entries.length; from += checkedAtOnce) {
    await Promise.all(
      entries.slice(from, from + checkedAtOnce).map(async (entry) => {
        const { job, queue } = entry
        const found = (await isStored(queues, queue, job)) ? kept : gone
        found.set(queue, (found.get(queue) ?? new Set()).add(job))
      }),
    )
  }
  for (const [queue, jobs] of gone) await index.removeOld(queue, [...jobs], before)
  for (const [queue, jobs] of kept) await index.touch(queue, [...jobs], now)
}

/** Whether a job or schedule exists, or is a deleted job that can still be restored. */
async function isStored(queues: Queues, queue: string, job: string): Promise<boolean> {
  if (job.startsWith('@')) return (await queues.queue(queue).getJobScheduler(job.slice(1))) !== undefined
  return (await queues.job(queue, job)) !== undefined || (await queues.deletedJob(queue, job)) !== undefined
}
