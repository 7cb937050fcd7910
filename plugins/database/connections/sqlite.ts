import { chmod, mkdir, open as openFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Kysely } from 'kysely'
import type Libsql from 'libsql'
import type { Clock } from 'zin'
import { messageOf, systemClock } from 'zin'
import { databaseErrors } from '../errors.js'
import type { SqliteConfig } from './config.js'
import type { Connection } from './connection.js'
import { boundedDriver } from './driver.js'

export interface SqliteDeps {
  readonly clock: Clock
  readonly acquireTimeoutMs: number
}

/** How long a statement or the begin of a transaction waits for another process's write, in ms. */
const busyTimeoutMs = 5000
/** How long a migration waits for another process's migrations, in ms. */
const migrationWaitMs = 300_000

/** A SQLite file in WAL mode with full sync, on one connection. */
export function sqliteConnection(config: SqliteConfig, { clock, acquireTimeoutMs }: SqliteDeps): Connection {
  let open: { readonly file: Libsql.Database; readonly tables: Kysely<unknown> } | undefined
  let opening: Promise<void> | undefined

  const connect = async (): Promise<void> => {
    const [{ Kysely, SqliteDialect }, { default: Database }] = await Promise.all([import('kysely'), import('libsql')])
    let file: Libsql.Database | undefined
    try {
      await mkdir(dirname(config.file), { recursive: true, mode: 0o700 })
      await keepPrivate(config.file)
      file = new Database(config.file, { timeout: busyTimeoutMs } as Libsql.Options)
      file.exec('pragma journal_mode = wal')
      file.exec('pragma synchronous = full')
      file.exec('pragma foreign_keys = on')
    } catch (error) {
      file?.close()
      throw databaseErrors.DATABASE_UNAVAILABLE(
        `The database file ${config.file} cannot be opened: ${messageOf(error)}. Check that its folder (ZIN_DATA_DIR) is writable and the file is a SQLite database`,
      )
    }
    const dialect = new SqliteDialect({ database: file })
    const tables = new Kysely<unknown>({
      dialect: {
        createAdapter: () => dialect.createAdapter(),
        createIntrospector: (db) => dialect.createIntrospector(db),
        createQueryCompiler: () => dialect.createQueryCompiler(),
        createDriver: () =>
          boundedDriver(dialect.createDriver(), {
            name: config.name,
            acquireTimeoutMs,
            begin: () => beginImmediate(opened().file),
          }),
      },
    })
    open = { file, tables }
  }

  const opened = () => {
    if (!open) throw databaseErrors.DATABASE_NOT_STARTED(config.name)
    return open
  }

  return {
    name: config.name,
    dialect: 'sqlite',
    where: config.file,
    get connected() {
      return open !== undefined
    },
    tables: () => opened().tables,
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
      opened().file.prepare('select count(*) from sqlite_schema').get()
      return Math.round(clock.monotonic() - started)
    },
    // Every step is one transaction that reads the ledger first, so the file's own write lock is the lock.
    exclusive: (task) => task(),
    async step(task) {
      const deadline = systemClock.monotonic() + migrationWaitMs
      for (;;) {
        try {
          return await opened().tables.transaction().execute(task)
        } catch (error) {
          if (!isBusy(error)) throw error
          if (systemClock.monotonic() > deadline) throw databaseErrors.MIGRATION_LOCKED(config.file, migrationWaitMs)
        }
      }
    },
    async close() {
      await opening?.catch(() => undefined)
      open?.file.close()
      open = undefined
    },
  }
}

/**
 * Takes the write lock at the begin: a transaction that reads first and writes later would fail as soon as another
 * process wrote in between. It waits without blocking, since SQLite's own wait would stop the whole process.
 */
async function beginImmediate(file: Libsql.Database): Promise<void> {
  // Waiting for another process happens in real time, whatever clock the app has.
  const deadline = systemClock.monotonic() + busyTimeoutMs
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    file.exec('pragma busy_timeout = 0')
    try {
      file.exec('begin immediate')
      return
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() > deadline) throw error
    } finally {
      file.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

/**
 * Lets no other user of the machine read the database: SQLite gives the files beside it the mode of the file itself. What the
 * file system, or another owner, does not let be changed stays as it is.
 */
async function keepPrivate(file: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await openFile(file, 'a', 0o600)
  await handle.close()
  await Promise.allSettled([file, `${file}-wal`, `${file}-shm`].map((path) => chmod(path, 0o600)))
}

function isBusy(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'SQLITE_BUSY'
}
