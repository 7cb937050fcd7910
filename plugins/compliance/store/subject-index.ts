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

/** Index of jobs by subject. */
export interface SubjectIndex {
  add(entries: readonly IndexedJob[]): Promise<void>
  /** Returns at most `limit` entries after `after`, ordered by queue and job. */
  find(subjects: readonly string[], after: Pick<IndexedJob, 'queue' | 'job'> | undefined, limit: number): Promise<readonly IndexedJob[]>
  has(subjects: readonly string[]): Promise<boolean>
  isEmpty(): Promise<boolean>
  remove(queue: string, jobs: readonly string[]): Promise<void>
  /** Returns at most `limit` entries, oldest first. */
  olderThan(before: number, limit: number): Promise<readonly IndexedJob[]>
}

const table = 'zin_subject_jobs'

export function databaseIndex(database: Database): SubjectIndex {
  const tables = () => database.tables<Record<typeof table, IndexedJob>>()
  return {
    add: (entries) =>
      upsertRows(tables(), { table, key: ['subject', 'queue', 'job'], rows: entries.map((one) => ({ ...one })), existing: 'replace' }),
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
    async remove(queue, jobs) {
      await tables()
        .deleteFrom(table)
        .where('queue', '=', queue)
        .where(await inList(tables(), 'job', jobs))
        .execute()
    },
    olderThan: (before, limit) => tables().selectFrom(table).selectAll().where('at', '<', before).orderBy('at').limit(limit).execute(),
  }
}
