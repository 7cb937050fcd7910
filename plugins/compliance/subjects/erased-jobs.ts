import type { Clock } from 'zin'
import type { JobAddition, NewJob, Queues } from 'zin/plugins/queues'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { unpacked } from './digest.js'
import { scheduleRow } from './index-jobs.js'
import type { StoredSubjects } from './stored.js'

export interface ErasedJobsParts {
  readonly queues: Pick<Queues, 'dropNext'>
  readonly stored: Pick<StoredSubjects, 'purge' | 'purgeSchedule'>
  readonly index: Pick<SubjectIndex, 'addErased' | 'erasedBefore' | 'live' | 'removeErased' | 'touch'>
  readonly clock: Clock
}

/** How long an erased job may still arrive after its erasure, if its producer cannot remove it itself, in ms. */
const arriveMs = 600_000
const sweptAtOnce = 200

/** Removes the jobs and schedules of a subject by their index rows; returns the rows of jobs that are running. */
async function purgeRows(
  stored: ErasedJobsParts['stored'],
  { queue, rows, subject }: { readonly queue: string; readonly rows: readonly string[]; readonly subject: string },
): Promise<readonly string[]> {
  for (const row of rows) if (row.startsWith('@')) await stored.purgeSchedule(queue, row.slice(1), [subject])
  const jobs = rows.filter((row) => !row.startsWith('@'))
  return jobs.length === 0 ? [] : (await stored.purge(queue, jobs, [subject])).running
}

/** Removes the jobs just added whose subject was erased since they were indexed: nothing else would find them. */
export function removeErased({ clock, index, queues, stored }: ErasedJobsParts) {
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
    for (const { rows, subject } of bySubject(erased)) await purgeRows(stored, { queue, rows, subject })
    const ids = new Set(erased.map(({ job }) => job))
    // Its data may wait beside the running job with the same deduplication id, under no id of their own.
    for (const { options = {} } of jobs) {
      const { deduplication, jobId } = options
      if (deduplication !== undefined && jobId !== undefined && ids.has(jobId)) await queues.dropNext(queue, deduplication.id)
    }
  }
}

/** Removes erased jobs that arrived although their producer did not remove them, such as after a crash. Called on the leader. */
export async function sweepErased({ clock, index, stored }: ErasedJobsParts): Promise<void> {
  for (const { queue, rows, subject } of bySubject(await index.erasedBefore(clock.now() - arriveMs, sweptAtOnce))) {
    // One that cannot be read now is left to a later call, as one that is running.
    const running = await purgeRows(stored, { queue, rows, subject }).catch(() => rows)
    const gone = rows.filter((row) => !running.includes(row))
    if (gone.length > 0) await index.removeErased(queue, gone, [subject])
    if (running.length > 0) await index.touch(queue, running, clock.now())
  }
}

interface RowsOfSubject {
  readonly queue: string
  readonly subject: string
  readonly rows: readonly string[]
}

/** Groups rows by queue and subject: the job with the id of a row may be that of another subject. */
function bySubject(entries: readonly IndexedJob[]): readonly RowsOfSubject[] {
  const found = new Map<string, RowsOfSubject & { readonly rows: string[] }>()
  for (const { job, queue, subject } of entries) {
    const key = `${subject}:${queue}`
    const group = found.get(key) ?? { queue, subject, rows: [] }
    found.set(key, group)
    group.rows.push(job)
  }
  return [...found.values()]
}
