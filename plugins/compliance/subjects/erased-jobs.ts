import type { Clock } from 'zin'
import type { JobAddition, NewJob, Queues } from 'zin/plugins/queues'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { unpacked } from './digest.js'
import { scheduleRow } from './index-jobs.js'

export interface ErasedJobsParts {
  readonly queues: Pick<Queues, 'dropNext' | 'purge' | 'purgeSchedule'>
  readonly index: Pick<SubjectIndex, 'addErased' | 'erasedBefore' | 'live' | 'removeErased' | 'touch'>
  readonly clock: Clock
}

/** How long an erased job may still arrive after its erasure, if its producer cannot remove it itself, in ms. */
const arriveMs = 600_000
const sweptAtOnce = 200

/** Removes jobs and schedules by their index rows; returns the rows of jobs that are running. */
async function purgeRows(queues: ErasedJobsParts['queues'], queue: string, rows: readonly string[]): Promise<readonly string[]> {
  for (const row of rows) if (row.startsWith('@')) await queues.purgeSchedule(queue, row.slice(1))
  const jobs = rows.filter((row) => !row.startsWith('@'))
  return jobs.length === 0 ? [] : (await queues.purge(queue, jobs)).running
}

/** Removes the jobs just added whose subject was erased since they were indexed: nothing else would find them. */
export function removeErased({ clock, index, queues }: ErasedJobsParts) {
  return async (jobs: readonly NewJob[], queue: string, { schedule }: JobAddition): Promise<void> => {
    const at = clock.now()
    const entries = jobs.flatMap(({ options = {} }): readonly IndexedJob[] => {
      const job = schedule === undefined ? options.jobId : scheduleRow(schedule)
      return job === undefined ? [] : unpacked(options.subject).map((subject) => ({ subject, queue, job, at }))
    })
    if (entries.length === 0) return
    const live = new Set((await index.live(entries)).map(({ job, subject }) => subject + job))
    const erased = entries.filter(({ job, subject }) => !live.has(subject + job))
    if (erased.length === 0) return
    // Before the removal: a worker may have taken a job already, and then it is removed later.
    await index.addErased(erased)
    const ids = new Set(erased.map(({ job }) => job))
    await purgeRows(queues, queue, [...ids])
    // Its data may wait beside the running job with the same deduplication id, under no id of their own.
    for (const { options = {} } of jobs) {
      const { deduplication, jobId } = options
      if (deduplication !== undefined && jobId !== undefined && ids.has(jobId)) await queues.dropNext(queue, deduplication.id)
    }
  }
}

/** Removes erased jobs that arrived although their producer did not remove them, such as after a crash. Called on the leader. */
export async function sweepErased({ clock, index, queues }: ErasedJobsParts): Promise<void> {
  const byQueue = new Map<string, Set<string>>()
  for (const { job, queue } of await index.erasedBefore(clock.now() - arriveMs, sweptAtOnce))
    byQueue.set(queue, (byQueue.get(queue) ?? new Set()).add(job))
  for (const [queue, found] of byQueue) {
    const rows = [...found]
    const running = await purgeRows(queues, queue, rows)
    const gone = rows.filter((row) => !running.includes(row))
    if (gone.length > 0) await index.removeErased(queue, gone)
    if (running.length > 0) await index.touch(queue, running, clock.now())
  }
}
