import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { type Logger, systemClock, withDeadline } from 'zin'
import { databaseErrors } from '../errors.js'
import { sqlTools } from '../sql-tools.js'
import { insertIfAbsent } from '../writes.js'

interface LockTables {
  readonly zin_migration_lock: { readonly id: number; readonly holder: string; readonly lease_until: number }
}

export interface LeaseLockOptions {
  readonly where: string
  readonly log: Logger
}

/** How long a process waits for another one's migrations, how long a lease lasts and how often it is renewed, in ms. */
const waitMs = 300_000
const leaseMs = 30_000
const renewMs = 10_000
const pollMs = 500

/**
 * Runs the task while holding the lease in the table `zin_migration_lock`, which one process can hold at a time. For databases behind a
 * proxy, which has no sessions to hold a lock. A process that dies without releasing the lease blocks the others for up to 30 s.
 */
// biome-ignore lint/suspicious/noExplicitAny: a handle of any tables
export async function withLease<T>(db: Kysely<any>, { where, log }: LeaseLockOptions, task: () => Promise<T>): Promise<T> {
  const { now, nowPlus } = await sqlTools(db)
  const tables = db as Kysely<LockTables>
  const holder = randomUUID()
  const lease = tables.updateTable('zin_migration_lock').set({ holder, lease_until: nowPlus(leaseMs) })
  const acquired = async (): Promise<boolean> => (await lease.where('lease_until', '<', now).executeTakeFirst()).numUpdatedRows > 0n

  await createLock(tables)
  // Real time, not the app's clock: this waits for another process.
  const deadline = systemClock.monotonic() + waitMs
  for (let warned = false; !(await acquired()); warned = true) {
    if (systemClock.monotonic() > deadline) throw databaseErrors.MIGRATION_LOCKED(where, waitMs)
    if (!warned) log.warn({ database: where }, 'waiting for another process that is migrating this database')
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  const mine = lease.where('holder', '=', holder)
  // A failed renewal is retried with the next one. If another process takes the lease over, steps may run twice: they are repeatable.
  let renewed: Promise<unknown> = Promise.resolve()
  const renew = (): void => {
    const renewal = mine.execute().catch(() => undefined)
    renewed = Promise.all([renewed, renewal])
  }
  const timer = setInterval(renew, renewMs)
  try {
    return await task()
  } finally {
    clearInterval(timer)
    // A renewal that arrives after the release would block the others for the length of a lease.
    await withDeadline(renewed, leaseMs, 'the lease was not renewed').catch(() => undefined)
    await tables
      .updateTable('zin_migration_lock')
      .set({ lease_until: 0 })
      .where('holder', '=', holder)
      .execute()
      .catch(() => undefined)
  }
}

async function createLock(db: Kysely<LockTables>): Promise<void> {
  await db.schema
    .createTable('zin_migration_lock')
    .ifNotExists()
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('holder', 'varchar(36)', (column) => column.notNull())
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .execute()
  await insertIfAbsent(db, 'zin_migration_lock', ['id'], { id: 1, holder: '', lease_until: 0 })
}
