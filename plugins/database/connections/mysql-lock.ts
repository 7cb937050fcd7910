import type { Connection as MysqlSocket } from 'mysql2'
import { type Logger, systemClock, withDeadline } from 'zin'
import { databaseErrors } from '../errors.js'
import { silent } from './mysql-messages.js'
import { query } from './mysql-socket.js'

export interface MigrationLockOptions {
  readonly database: string
  readonly where: string
  /** How long the server may take to respond, in ms. */
  readonly limitMs: number
  readonly log: Logger
}

/** How long a process waits for another one's migrations, in ms. */
const waitMs = 300_000

/** Takes the lock for migrations, which belongs to the connection: it ends with the process, however that ends. */
export async function migrationLock(holder: MysqlSocket, { database, where, limitMs, log }: MigrationLockOptions): Promise<void> {
  const name = `zin_migrate:${database}`.slice(0, 64)
  const ask = (seconds: number) => query<{ got: number | null }>(holder, 'select get_lock(?, ?) as got', [name, seconds])
  // Waiting for another process happens in real time, whatever clock the app has.
  const deadline = systemClock.monotonic() + waitMs
  for (let told = false; ; told = true) {
    // The server waits at most 1 s of each question, so that one that hangs is noticed.
    const [row] = await withDeadline(ask(told ? 1 : 0), limitMs + 1000, () => silent(where, limitMs))
    if (row?.got === 1) return
    if (systemClock.monotonic() > deadline) throw databaseErrors.MIGRATION_LOCKED(where, waitMs)
    if (!told) log.warn({ database: where }, 'waiting for another process that migrates this database')
  }
}
