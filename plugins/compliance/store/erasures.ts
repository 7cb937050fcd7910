import { type Database, inList, upsertRows } from 'zin/plugins/database'

/** The erasure of the data of one subject. */
export interface Erasure {
  readonly id: string
  /** Digest of the subject; its id is not stored. */
  readonly subject: string
  /** `waiting`: only running jobs are left, which are erased when they end. */
  readonly state: 'running' | 'waiting' | 'completed' | 'failed'
  /** Jobs and schedules that were erased. */
  readonly erased: number
  /** Number of jobs still running. */
  readonly pending: number
  /** Records erased by other plugins. */
  readonly elsewhere: number
  readonly error: string | null
  readonly actor: { readonly kind: string; readonly id: string; readonly via: string }
  /** ISO 8601. */
  readonly requestedAt: string
  readonly updatedAt: string
}

/** A running job that is erased when it ends. */
export interface PendingJob {
  readonly queue: string
  readonly job: string
}

/** A pending job, with when the erasure began to wait for it, in ms since 1970. */
export interface AwaitedJob extends PendingJob {
  readonly at: number
}

export interface Erasures {
  /** @param digests of the subject under all keys. */
  save(erasure: Erasure, digests: readonly string[]): Promise<void>
  get(id: string): Promise<Erasure | undefined>
  /** Returns open erasures that were last updated before a time (ms since 1970), because their process has ended. */
  abandoned(before: number): Promise<readonly (Erasure & { readonly digests: readonly string[] })[]>
  /** Returns the newest erasures that failed since a time (ms since 1970), without those whose subject was erased later. At most 100. */
  failed(since: number): Promise<readonly Erasure[]>
  /** Returns the oldest erasures that wait for running jobs and were requested before a time (ms since 1970). At most 100. */
  waiting(before: number): Promise<readonly Erasure[]>
  addPending(id: string, jobs: readonly PendingJob[]): Promise<void>
  pending(id: string): Promise<readonly AwaitedJob[]>
  removePending(id: string, queue: string, jobs: readonly string[]): Promise<void>
}

interface ErasureRow {
  readonly id: string
  readonly subject: string
  readonly state: Erasure['state']
  readonly erased: number
  readonly pending: number
  readonly elsewhere: number
  readonly error: string | null
  readonly actor: string
  readonly requested_at: number
  readonly updated_at: number
  /** Joined by commas; null for an erasure of an earlier version. */
  readonly digests: string | null
}

interface PendingRow extends PendingJob {
  readonly erasure: string
  readonly at: number
}

const table = 'zin_erasures'
const pendingTable = 'zin_erasure_jobs'
/** Maximum number of pending jobs read per erasure. */
const mostPending = 10_000
/** Maximum number of erasures of a list. */
const mostListed = 100

export function databaseErasures(database: Database): Erasures {
  const tables = () => database.tables<{ [table]: ErasureRow; [pendingTable]: PendingRow }>()
  return {
    save: ({ actor, requestedAt, updatedAt, ...others }, digests) =>
      database.upsert(table, ['id'], {
        ...others,
        digests: digests.join(','),
        actor: JSON.stringify(actor),
        requested_at: Date.parse(requestedAt),
        updated_at: Date.parse(updatedAt),
      }),
    async get(id) {
      const row = await tables().selectFrom(table).selectAll().where('id', '=', id).executeTakeFirst()
      return row && erasureOf(row)
    },
    async abandoned(before) {
      const rows = await tables()
        .selectFrom(table)
        .selectAll()
        .where('state', 'in', ['running', 'waiting'])
        .where('updated_at', '<', before)
        .limit(100)
        .execute()
      return rows.map((row) => ({ ...erasureOf(row), digests: row.digests?.split(',') ?? [row.subject] }))
    },
    async failed(since) {
      const rows = await tables()
        .selectFrom(table)
        .selectAll()
        .where('state', '=', 'failed')
        .where('updated_at', '>', since)
        .orderBy('updated_at', 'desc')
        .limit(mostListed)
        .execute()
      if (rows.length === 0) return []
      const later = await tables()
        .selectFrom(table)
        .select(['subject', 'requested_at'])
        .where('state', '=', 'completed')
        .where('updated_at', '>', since)
        .where(await inList(tables(), 'subject', [...new Set(rows.map(({ subject }) => subject))]))
        .execute()
      const isDone = ({ requested_at, subject }: ErasureRow): boolean =>
        later.some((one) => one.subject === subject && Number(one.requested_at) > Number(requested_at))
      return rows.filter((row) => !isDone(row)).map(erasureOf)
    },
    async waiting(before) {
      const rows = await tables()
        .selectFrom(table)
        .selectAll()
        .where('state', '=', 'waiting')
        .where('requested_at', '<', before)
        .orderBy('requested_at')
        .limit(mostListed)
        .execute()
      return rows.map(erasureOf)
    },
    async addPending(id, jobs) {
      if (jobs.length === 0) return
      const rows = jobs.map(({ job, queue }) => ({ erasure: id, queue, job, at: Date.now() }))
      await upsertRows(tables(), { table: pendingTable, key: ['erasure', 'queue', 'job'], rows, existing: 'replace' })
    },
    async pending(id) {
      const rows = await tables()
        .selectFrom(pendingTable)
        .select(['queue', 'job', 'at'])
        .where('erasure', '=', id)
        .limit(mostPending)
        .execute()
      return rows.map(({ at, job, queue }) => ({ queue, job, at: Number(at) }))
    },
    async removePending(id, queue, jobs) {
      await tables()
        .deleteFrom(pendingTable)
        .where('erasure', '=', id)
        .where('queue', '=', queue)
        .where(await inList(tables(), 'job', jobs))
        .execute()
    },
  }
}

/** Drivers return numbers as number, text or bigint. */
function erasureOf({ actor, digests: _, elsewhere, erased, pending, requested_at, updated_at, ...others }: ErasureRow): Erasure {
  return {
    ...others,
    erased: Number(erased),
    pending: Number(pending),
    elsewhere: Number(elsewhere),
    actor: JSON.parse(actor),
    requestedAt: new Date(Number(requested_at)).toISOString(),
    updatedAt: new Date(Number(updated_at)).toISOString(),
  }
}
