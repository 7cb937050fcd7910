import type { ExpressionBuilder } from 'kysely'
import { type Database, inList, upsertRows } from 'zin/plugins/database'

/** A job of a subject. */
export interface IndexedJob {
  /** Digest of the subject. */
  readonly subject: string
  readonly queue: string
  /** Job id, or `@<id>` for a schedule. */
  readonly job: string
  /** When the job was added or last found to exist, in ms since 1970. */
  readonly at: number
}

/** An entry as stored. */
interface IndexRow extends IndexedJob {
  /** When its job was erased, in ms since 1970; null for one that was not. */
  readonly erased_at: number | null
}

/**
 * Index of jobs by subject. An entry says that a job was to be added, so the job with its id may be that of another subject. The entry of an erased job is marked before the job is removed, and stays marked while the job may still
 * arrive; a producer that finds its entry marked or missing removes its job.
 */
export interface SubjectIndex {
  /** Adds entries of jobs that are about to be stored. */
  add(entries: readonly IndexedJob[]): Promise<void>
  /** Adds entries of jobs that were found in a queue; existing ones stay as they are. */
  addFound(entries: readonly IndexedJob[]): Promise<void>
  /** Adds those entries of one queue that do not exist; returns how many. */
  addMissing(entries: readonly IndexedJob[]): Promise<number>
  /** Adds entries, marked as erased at their time. */
  addErased(entries: readonly IndexedJob[]): Promise<void>
  /** Returns those of the entries that exist and are not marked. */
  live(entries: readonly Pick<IndexedJob, 'subject' | 'queue' | 'job'>[]): Promise<readonly Pick<IndexedJob, 'subject' | 'job'>[]>
  /** Marks the entries of jobs for some subjects; returns how many were not marked before. */
  markErased(queue: string, jobs: readonly string[], subjects: readonly string[], at: number): Promise<number>
  /** Removes the marked entries of jobs for some subjects. */
  removeErased(queue: string, jobs: readonly string[], subjects: readonly string[]): Promise<void>
  /** Returns at most `limit` marked entries, oldest first. */
  erasedBefore(before: number, limit: number): Promise<readonly IndexedJob[]>
  /** Changes the time of entries, or of their mark if they have one. */
  touch(queue: string, jobs: readonly string[], at: number): Promise<void>
  /** Returns at most `limit` entries after `after`, ordered by queue and job. */
  find(subjects: readonly string[], after: Pick<IndexedJob, 'queue' | 'job'> | undefined, limit: number): Promise<readonly IndexedJob[]>
  has(subjects: readonly string[]): Promise<boolean>
  isEmpty(): Promise<boolean>
  /** Removes the entries of jobs that are older than a time and not marked. */
  removeOld(queue: string, jobs: readonly string[], before: number): Promise<void>
  /** Returns at most `limit` entries that are not marked, oldest first. */
  olderThan(before: number, limit: number): Promise<readonly IndexedJob[]>
}

const table = 'zin_subject_jobs'

export function databaseIndex(database: Database): SubjectIndex {
  const tables = () => database.tables<Record<typeof table, IndexRow>>()
  const key = ['subject', 'queue', 'job'] as const
  const add = (rows: readonly IndexRow[], existing: 'replace' | 'keep') =>
    upsertRows(tables(), { table, key, rows: rows.map((one) => ({ ...one })), existing })
  const ofJobs = async (queue: string, jobs: readonly string[]) => ({
    jobs: await inList(tables(), 'job', jobs),
    queue: (eb: ExpressionBuilder<Record<typeof table, IndexRow>, typeof table>) => eb('queue', '=', queue),
  })
  return {
    add: (entries) =>
      add(
        entries.map((one) => ({ ...one, erased_at: null })),
        'replace',
      ),
    addFound: (entries) =>
      add(
        entries.map((one) => ({ ...one, erased_at: null })),
        'keep',
      ),
    async addMissing(entries) {
      const [first] = entries
      if (first === undefined) return 0
      const of = await ofJobs(first.queue, [...new Set(entries.map(({ job }) => job))])
      const existing = await tables()
        .selectFrom(table)
        .select(['subject', 'job'])
        .where(of.queue)
        .where(of.jobs)
        .where(await inList(tables(), 'subject', [...new Set(entries.map(({ subject }) => subject))]))
        .execute()
      const known = new Set(existing.map(({ job, subject }) => subject + job))
      const missing = entries.filter(({ job, subject }) => !known.has(subject + job))
      if (missing.length > 0) {
        await add(
          missing.map((one) => ({ ...one, erased_at: null })),
          'keep',
        )
      }
      return missing.length
    },
    addErased: (entries) =>
      add(
        entries.map((one) => ({ ...one, erased_at: one.at })),
        'replace',
      ),
    async live(entries) {
      const [first] = entries
      if (first === undefined) return []
      const of = await ofJobs(first.queue, [...new Set(entries.map(({ job }) => job))])
      return tables()
        .selectFrom(table)
        .select(['subject', 'job'])
        .where(of.queue)
        .where(of.jobs)
        .where('erased_at', 'is', null)
        .where(await inList(tables(), 'subject', [...new Set(entries.map(({ subject }) => subject))]))
        .execute()
    },
    async markErased(queue, jobs, subjects, at) {
      const of = await ofJobs(queue, jobs)
      const unmarked = tables()
        .updateTable(table)
        .set({ erased_at: at })
        .where(of.queue)
        .where(of.jobs)
        .where(await inList(tables(), 'subject', subjects))
        .where('erased_at', 'is', null)
      return (await unmarked.execute()).reduce((sum, { numUpdatedRows }) => sum + Number(numUpdatedRows), 0)
    },
    async removeErased(queue, jobs, subjects) {
      const of = await ofJobs(queue, jobs)
      const marked = tables().deleteFrom(table).where(of.queue).where(of.jobs).where('erased_at', 'is not', null)
      await marked.where(await inList(tables(), 'subject', subjects)).execute()
    },
    erasedBefore: (before, limit) =>
      tables().selectFrom(table).selectAll().where('erased_at', '<', before).orderBy('erased_at').limit(limit).execute(),
    async touch(queue, jobs, at) {
      const of = await ofJobs(queue, jobs)
      await tables().updateTable(table).set({ at }).where(of.queue).where(of.jobs).execute()
      await tables().updateTable(table).set({ erased_at: at }).where(of.queue).where(of.jobs).where('erased_at', 'is not', null).execute()
    },
    find: async (subjects, after, limit) =>
      tables()
        .selectFrom(table)
        .selectAll()
        .where(await inList(tables(), 'subject', subjects))
        .$if(after !== undefined, (query) =>
          query.where((eb) =>
            eb.or([eb('queue', '>', after?.queue ?? ''), eb.and([eb('queue', '=', after?.queue ?? ''), eb('job', '>', after?.job ?? '')])]),
          ),
        )
        .orderBy('queue')
        .orderBy('job')
        .limit(limit)
        .execute(),
    async has(subjects) {
      const found = tables()
        .selectFrom(table)
        .select('job')
        .where(await inList(tables(), 'subject', subjects))
      return (await found.limit(1).executeTakeFirst()) !== undefined
    },
    isEmpty: async () => (await tables().selectFrom(table).select('job').limit(1).executeTakeFirst()) === undefined,
    async removeOld(queue, jobs, before) {
      const of = await ofJobs(queue, jobs)
      await tables().deleteFrom(table).where(of.queue).where(of.jobs).where('at', '<', before).where('erased_at', 'is', null).execute()
    },
    olderThan: (before, limit) =>
      tables().selectFrom(table).selectAll().where('at', '<', before).where('erased_at', 'is', null).orderBy('at').limit(limit).execute(),
  }
}
