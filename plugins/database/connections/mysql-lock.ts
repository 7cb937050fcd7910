import type { Connection as MysqlSocket } from 'mysql2'
import { type Logger, systemClock, withDeadline } from 'zin'
import { databaseErrors } from '../errors.js'
import { silent } from './mysql-messages.js'
import { query } from './mysql-session.js'

export interface MigrationLockOptions {
  readonly database: string
  readonly where: string
  /** Response deadline of the server, in ms. */
  readonly limitMs: number
  readonly log: Logger
}

/** How long a process waits for another one's migrations, in ms. */
const waitMs = 300_000

/** Acquires the migration lock. It belongs to the connection, so the server releases it when the process ends. */
export async function migrationLock(holder: MysqlSocket, { database, where, limitMs, log }: MigrationLockOptions): Promise<void> {
  const name = `zin_migrate:${database}`.slice(0, 64)
  const acquire = (seconds: number) => query<{ got: number | null }>(holder, 'select get_lock(?, ?) as got', [name, seconds])
  // Real time, not the app's clock: this waits for another process.
  const deadline = systemClock.monotonic() + waitMs
  for (let warned = false; ; warned = true) {
    // Each call waits at most 1 s on the server, so that a server that hangs is noticed.
    const [row] = await withDeadline(acquire(warned ? 1 : 0), limitMs + 1000, () => silent(where, limitMs))
    if (row?.got === 1) return
    if (systemClock.monotonic() > deadline) throw databaseErrors.MIGRATION_LOCKED(where, waitMs)
    if (!warned) log.warn({ database: where }, 'waiting for another process that is migrating this database')
  }
}
