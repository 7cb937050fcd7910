import { chmod, mkdir, open as openFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Kysely } from 'kysely'
import type { Clock, Logger } from 'zin'
import { freeBytes, messageOf, ZinError } from 'zin'
import { type LoadedBinding, loadBinding, openSqlite, type SqliteDatabase } from 'zin/plugins/sqlite'
import { databaseErrors } from '../errors.js'
import type { QueryObservers } from '../observers.js'
import { batchInTransaction } from './batch.js'
import { Callers } from './callers.js'
import type { SqliteConfig } from './config.js'
import type { Connection } from './connection.js'
import { sqliteDriver } from './sqlite-driver.js'
import { type LockWait, locked, whileLocked } from './sqlite-lock.js'
import { WriteSpace } from './write-space.js'

export interface SqliteDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly queries: QueryObservers
  readonly acquireTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
}

/** How long a migration waits for another process's migrations, in ms. */
const migrationWaitMs = 300_000
const pingLimitMs = 5000
/** Free space below which a disk counts as full, in bytes: about what the write-ahead log takes between two checkpoints. */
const spareBytes = 4 * 2 ** 20

/** A SQLite file in WAL mode with full sync, on one connection. */
export function sqliteConnection(config: SqliteConfig, deps: SqliteDeps): Connection {
  const { clock, log, connectTimeoutMs } = deps
  const space = new WriteSpace()
  const callers = new Callers()
  let open: { readonly file: SqliteDatabase; readonly tables: Kysely<unknown> } | undefined
  let opening: Promise<void> | undefined

  const connect = async (): Promise<void> => {
    const { Kysely, SqliteDialect } = await import('kysely')
    const binding = bindingOf(config.name)
    let file: SqliteDatabase | undefined
    try {
      await mkdir(dirname(config.file), { recursive: true, mode: 0o700 })
      await keepPrivate(config.file)
      const made = openSqlite(config.file, binding)
      file = made
      made.exec('pragma busy_timeout = 0')
      await unlocked(connectTimeoutMs, () => made.exec('pragma journal_mode = wal'), { onWait })
      made.exec('pragma synchronous = full')
      made.exec('pragma foreign_keys = on')
    } catch (error) {
      file?.close()
      if (error instanceof ZinError) throw error
      throw databaseErrors.DATABASE_UNAVAILABLE(
        `The database file ${config.file} cannot be opened: ${messageOf(error)}. Check that its folder (ZIN_DATA_DIR) is writable and the file is a SQLite database`,
      )
    }
    const made = file
    const dialect = new SqliteDialect({ database: made })
    const tables = new Kysely<unknown>({
      ...deps.queries.logOf(config.name, 'sqlite'),
      dialect: {
        createAdapter: () => dialect.createAdapter(),
        createIntrospector: (db) => dialect.createIntrospector(db),
        createQueryCompiler: () => dialect.createQueryCompiler(),
        createDriver: () =>
          sqliteDriver(dialect.createDriver(), { ...deps, file: made, name: config.name, path: config.file, space, callers }),
      },
    })
    open = { file: made, tables }
  }

  const onWait = (): void => log.warn({ file: config.file }, 'waiting for another process that has locked the database file')

  const unlocked = <T>(limitMs: number, work: () => T | Promise<T>, wait: Partial<LockWait>): Promise<T> =>
    whileLocked({ limitMs, late: () => locked(config.file, limitMs), ...wait }, work)

  const opened = () => {
    if (!open) throw databaseErrors.DATABASE_NOT_STARTED(config.name)
    return open
  }

  return {
    name: config.name,
    dialect: 'sqlite',
    // A file in the data directory of the app.
    shared: false,
    where: config.file,
    callers,
    get connected() {
      return open !== undefined
    },
    tables: () => opened().tables,
    batch: (queries) => batchInTransaction(opened().tables, queries),
    connect: () => {
      if (open) return Promise.resolve()
      opening ??= connect().finally(() => {
        opening = undefined
      })
      return opening
    },
    async ping(signal) {
      signal?.throwIfAborted()
      const started = clock.monotonic()
      await unlocked(pingLimitMs, () => opened().file.prepare('select count(*) from sqlite_schema').all([]), { signal })
      return Math.round(clock.monotonic() - started)
    },
    async writeFault() {
      const free = freeBytes(dirname(config.file))
      if (free < spareBytes) return `the disk of ${config.file} is full: ${free} bytes are free`
      return space.isFull ? `a write to ${config.file} failed because its disk, or a quota of it, is full` : undefined
    },
    // Every step is one transaction that reads the ledger first, so the write lock of the file is the migration lock.
    exclusive: (task) => task(),
    step: (task) =>
      unlocked(migrationWaitMs, () => opened().tables.transaction().execute(task), {
        onWait,
        late: () => databaseErrors.MIGRATION_LOCKED(config.file, migrationWaitMs),
      }),
    async close() {
      await opening?.catch(() => undefined)
      open?.file.close()
      open = undefined
    },
  }
}

function bindingOf(name: string): LoadedBinding {
  try {
    return loadBinding()
  } catch (error) {
    throw databaseErrors.DATABASE_CONFIG(`connection "${name}" is a SQLite file. ${messageOf(error)}`)
  }
}

/**
 * Makes the database readable for its owner only; SQLite gives the WAL files the mode of the database file. A mode that cannot
 * be changed, because of the file system or another owner, stays as it is.
 */
async function keepPrivate(file: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await openFile(file, 'a', 0o600)
  await handle.close()
  await Promise.allSettled([file, `${file}-wal`, `${file}-shm`].map((path) => chmod(path, 0o600)))
}
