import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import type Libsql from 'libsql'
import { systemClock, withDeadline } from 'zin'
import { databaseErrors } from '../errors.js'
import { forwardingDriver } from './driver.js'
import { locked, whileLocked } from './sqlite-lock.js'

export interface SqliteDriverOptions {
  readonly file: Libsql.Database
  readonly name: string
  readonly path: string
  /** How long a statement waits for this process's own transaction, in ms. */
  readonly acquireTimeoutMs: number
  /** How long a statement waits for another process's lock, in ms. */
  readonly statementTimeoutMs: number
}

/** White space and comments before a statement; each comment matches in one way only, so that many of them stay fast. */
const leading = String.raw`^(?:\s|--[^\n]*\n|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*`
const writes = new RegExp(
  String.raw`${leading}(?:insert|update|delete|replace|create|alter|drop|with\b[\s\S]*\b(?:insert|update|delete))\b`,
  'i',
)
const explains = new RegExp(String.raw`${leading}explain\b`, 'i')

/** Acquires the lock first: a libsql statement that finds the file locked stays open, and later commits would fail. */
function alone<T>(file: Libsql.Database, run: () => T): T {
  file.exec('begin immediate')
  try {
    const result = run()
    file.exec('commit')
    return result
  } catch (error) {
    if (file.inTransaction) file.exec('rollback')
    throw error
  }
}

/** Returns the query plan. The plan of a write stays open after its last row, and later commits would fail; the second call closes it. */
function planOf<Row>(file: Libsql.Database, { parameters, sql }: CompiledQuery): QueryResult<Row> {
  const prepared = file.prepare(sql)
  const rows = prepared.all([...parameters]) as Row[]
  prepared.get([...parameters])
  return { rows }
}

/**
 * All callers share one connection. Statements of a transaction run together; others wait for its end. A statement that finds
 * the file locked by another process is retried without blocking, and other statements run meanwhile.
 */
export function sqliteDriver(inner: Driver, { file, name, path, acquireTimeoutMs, statementTimeoutMs }: SqliteDriverOptions): Driver {
  let owner: DatabaseConnection | undefined
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
        executeQuery: <Row>(query: CompiledQuery) => {
          const run = () => (explains.test(query.sql) ? planOf<Row>(file, query) : raw.executeQuery<Row>(query))
          return attempt(connection, () => (owner === undefined && writes.test(query.sql) ? alone(file, run) : run()))
        },
        async *streamQuery(query, chunkSize) {
          await attempt(connection, () => undefined)
          yield* raw.streamQuery(query, chunkSize)
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
