import { setImmediate } from 'node:timers/promises'
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { systemClock, withDeadline } from 'zin'
import { type SqliteDatabase, SqliteValueError } from 'zin/plugins/sqlite'
import { databaseErrors } from '../errors.js'
import type { Call, Callers } from './callers.js'
import { forwardingDriver } from './driver.js'
import { locked, whileLocked } from './sqlite-lock.js'
import type { WriteSpace } from './write-space.js'

export interface SqliteDriverOptions {
  readonly file: SqliteDatabase
  readonly name: string
  readonly path: string
  /** How long a statement waits for this process's own transaction, in ms. */
  readonly acquireTimeoutMs: number
  /** How long a statement waits for another process's lock, in ms. */
  readonly statementTimeoutMs: number
  readonly space: WriteSpace
  readonly callers: Callers
}

/**
 * How long a statement waits for the transaction that it was started in, in ms: work in the background that the transaction does not wait
 * for. What the transaction waits for would wait for itself.
 */
const ownWaitMs = 250

/** After so many statements, other work of the process runs, and a package that binds SQLite frees them. */
const statementsAtOnce = 256

/**
 * All callers share one connection. Statements of a transaction run together; others wait for its end. A statement that finds
 * the file locked by another process is retried without blocking, and other statements run meanwhile.
 */
export function sqliteDriver(inner: Driver, options: SqliteDriverOptions): Driver {
  const { file, name, path, acquireTimeoutMs, callers, space, statementTimeoutMs } = options
  let owner: DatabaseConnection | undefined
  /** The call of `transaction()` that the owner belongs to. */
  let ownerCall: Call | undefined
  let statements = 0
  const waiting = new Set<() => void>()

  const free = (connection: DatabaseConnection): void => {
    if (owner !== connection) return
    owner = undefined
    ownerCall = undefined
    const woken = [...waiting]
    waiting.clear()
    for (const wake of woken) wake()
  }

  const attempt = async <T>(connection: DatabaseConnection, run: () => T | Promise<T>): Promise<T> => {
    return whileLocked({ limitMs: statementTimeoutMs, late: () => locked(path, statementTimeoutMs) }, async () => {
      // Real time, not the app's clock: this waits for work in progress. One limit for all transactions that begin earlier.
      const began = systemClock.monotonic()
      while (owner !== undefined && owner !== connection) {
        const isOwn = callers.within((call) => call === ownerCall)
        const busy = () => (isOwn ? databaseErrors.DATABASE_OWN_TRANSACTION(name) : databaseErrors.DATABASE_BUSY(name, acquireTimeoutMs))
        const leftMs = began + Math.min(acquireTimeoutMs, isOwn ? ownWaitMs : acquireTimeoutMs) - systemClock.monotonic()
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

  const failed = (error: unknown): never => {
    space.failed(error)
    throw error
  }

  const refuse = (error: unknown, { sql }: CompiledQuery): never => {
    space.failed(error)
    if (!(error instanceof SqliteValueError)) throw error
    if (error.isText) throw databaseErrors.DATABASE_TEXT(name, error)
    throw databaseErrors.DATABASE_VALUE(name, sql, error)
  }

  const end = async (connection: DatabaseConnection, statement: 'commit' | 'rollback'): Promise<void> => {
    await attempt(connection, () => {
      // An error such as a full disk ends a transaction by itself.
      if (file.inTransaction || statement === 'commit') file.exec(statement)
    }).catch(failed)
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
          const result = await attempt(connection, () => raw.executeQuery<Row>(query)).catch((error) => refuse(error, query))
          if (space.isFull && (result.numAffectedRows ?? 0n) > 0n) space.wrote()
          return result
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
        ownerCall = callers.begun()
      }),
    commitTransaction: (connection) => end(connection, 'commit'),
    rollbackTransaction: (connection) => end(connection, 'rollback').finally(() => free(connection)),
    async releaseConnection(connection) {
      if (owner === connection) await end(connection, 'rollback').finally(() => free(connection))
    },
  }
}
