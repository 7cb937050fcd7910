import { setImmediate } from 'node:timers/promises'
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { systemClock, withDeadline } from 'zin'
import { type SqliteDatabase, SqliteValueError } from 'zin/plugins/sqlite'
import { databaseErrors } from '../errors.js'
import { forwardingDriver } from './driver.js'
import { locked, whileLocked } from './sqlite-lock.js'

export interface SqliteDriverOptions {
  readonly file: SqliteDatabase
  readonly name: string
  readonly path: string
  /** How long a statement waits for this process's own transaction, in ms. */
  readonly acquireTimeoutMs: number
  /** How long a statement waits for another process's lock, in ms. */
  readonly statementTimeoutMs: number
}

/** After so many statements, other work of the process runs, and a package that binds SQLite frees them. */
const statementsAtOnce = 256

/**
 * All callers share one connection. Statements of a transaction run together; others wait for its end. A statement that finds
 * the file locked by another process is retried without blocking, and other statements run meanwhile.
 */
export function sqliteDriver(inner: Driver, { file, name, path, acquireTimeoutMs, statementTimeoutMs }: SqliteDriverOptions): Driver {
  let owner: DatabaseConnection | undefined
  let statements = 0
  const waiting = new Set<() => void>()

  const free = (connection: DatabaseConnection): void => {
    if (owner !== connection) return
    owner = undefined
    const woken = [...waiting]
    waiting.clear()
    for (const wake of woken) wake()
  }

  const attempt = async <T>(connection: DatabaseConnection, run: () => T | Promise<T>): Promise<T> => {
    const busy = () => databaseErrors.DATABASE_BUSY(name, acquireTimeoutMs)
    return whileLocked({ limitMs: statementTimeoutMs, late: () => locked(path, statementTimeoutMs) }, async () => {
      // Real time, not the app's clock: this waits for work in progress. One limit for all transactions that begin earlier.
      const deadline = systemClock.monotonic() + acquireTimeoutMs
      while (owner !== undefined && owner !== connection) {
        const leftMs = deadline - systemClock.monotonic()
        if (leftMs <= 0) throw busy()
        let wake: () => void = () => undefined
        const freed = new Promise<void>((resolve) => {
          wake = resolve
          waiting.add(wake)
        })
        await withDeadline(freed, leftMs, busy).finally(() => waiting.delete(wake))
      }
      return run()
    })
  }

  const refuse = (error: unknown, { sql }: CompiledQuery): never => {
    if (!(error instanceof SqliteValueError)) throw error
    if (error.isText) throw databaseErrors.DATABASE_TEXT(name, error)
    throw databaseErrors.DATABASE_VALUE(name, sql, error)
  }

  const end = async (connection: DatabaseConnection, statement: 'commit' | 'rollback'): Promise<void> => {
    await attempt(connection, () => {
      // An error such as a full disk ends a transaction by itself.
      if (file.inTransaction || statement === 'commit') file.exec(statement)
    })
    free(connection)
  }

  return {
    ...forwardingDriver(inner),
    async acquireConnection() {
      const raw = await inner.acquireConnection()
      await inner.releaseConnection(raw)
      const connection: DatabaseConnection = {
        async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
          if (++statements % statementsAtOnce === 0) await setImmediate()
          return attempt(connection, () => raw.executeQuery<Row>(query)).catch((error) => refuse(error, query))
        },
        async *streamQuery<Row>(query: CompiledQuery, chunkSize: number) {
          await attempt(connection, () => undefined)
          try {
            yield* raw.streamQuery<Row>(query, chunkSize)
          } catch (error) {
            refuse(error, query)
          }
        },
      }
      return connection
    },
    // A deferred transaction that reads first and writes later fails when another process writes in between.
    beginTransaction: (connection) =>
      attempt(connection, () => {
        file.exec('begin immediate')
        owner = connection
      }),
    commitTransaction: (connection) => end(connection, 'commit'),
    rollbackTransaction: (connection) => end(connection, 'rollback').finally(() => free(connection)),
    async releaseConnection(connection) {
      if (owner === connection) await end(connection, 'rollback').finally(() => free(connection))
    },
  }
}
