import { callbackify } from 'node:util'
import type { MysqlPool, MysqlPoolConnection, MysqlQueryResult } from 'kysely'
import type { Pool, PoolConnection } from 'mysql2'
import { messageOf, withDeadline, type ZinError } from 'zin'
import { databaseErrors } from '../errors.js'
import { isConflict, isUnavailable } from '../failures.js'
import { isOfNextTransaction, mayChange, safetyQuery, sessionChange, unsafeSetting } from './mysql-changes.js'
import { reasonOf, silent } from './mysql-messages.js'
import { setUpSession } from './mysql-session.js'
import { discard } from './mysql-socket.js'
import { bindables } from './values.js'

export interface BoundedPoolOptions {
  readonly statementTimeoutMs: number
  /** For messages. */
  readonly where: string
  /** Called after a connection was discarded because the server did not respond. */
  readonly onLost: (connection: PoolConnection, error: ZinError) => void
  /** Called after a connection was closed whose session its last user had changed. */
  readonly onChanged: (connection: PoolConnection) => void
}

/**
 * What Kysely needs of a pool, with a deadline on each statement. A connection whose statement timed out never returns to the pool:
 * the late response would be read as that of the next statement. Whether the statement took effect is unknown, so it is not retried. Neither
 * does one whose session a statement has changed: variables, temporary tables and modes would be those of the next user.
 */
export function boundedPool(pool: Pool, options: BoundedPoolOptions): MysqlPool {
  const known = new WeakMap<PoolConnection, MysqlPoolConnection>()
  const fail = (error: unknown) => mapUnavailable(error, `Database ${options.where} cannot be reached`)
  /** No statement runs on a connection whose session is not set up. */
  const setUp = async (connection: PoolConnection): Promise<MysqlPoolConnection> => {
    let limit: number
    try {
      limit = await withDeadline(setUpSession(connection), options.statementTimeoutMs, () =>
        silent(options.where, options.statementTimeoutMs),
      )
    } catch (error) {
      discard(connection)
      throw fail(error)
    }
    const made = boundedConnection(connection, options, limit)
    known.set(connection, made)
    return made
  }
  return {
    getConnection: (callback) => {
      pool.getConnection((error, connection) => {
        if (error) return callback(fail(error), undefined as never)
        const made = known.get(connection)
        if (made !== undefined) return callback(undefined, made)
        callbackify(() => setUp(connection))(callback as (error: unknown, made: MysqlPoolConnection) => void)
      })
    },
    end: (callback) => pool.end(callback),
  }
}

function boundedConnection(
  connection: PoolConnection,
  { statementTimeoutMs, where, onChanged, onLost }: BoundedPoolOptions,
  maxBytes: number,
): MysqlPoolConnection {
  let lost: ZinError | undefined
  let [isChanged, inTransaction, setsNext] = [false, false, false]

  /** Closes the connection if parameters of the next statement would be SQL. */
  const checkSession = async (): Promise<void> => {
    isChanged = true
    const rows = (await sent(safetyQuery, [])) as unknown as readonly Readonly<Record<string, unknown>>[]
    const unsafe = unsafeSetting(rows[0])
    if (unsafe === undefined) return
    lost = databaseErrors.DATABASE_SESSION_CHANGED(where, ...unsafe)
    close()
    throw lost
  }

  const close = (): void => {
    discard(connection)
    onChanged(connection)
  }

  const inTime = async <T>(work: () => Promise<T>): Promise<T> => {
    if (lost) throw lost
    return withDeadline(work(), statementTimeoutMs, () => {
      lost ??= databaseErrors.DATABASE_UNAVAILABLE(
        `Database ${where} did not respond to a statement within ${statementTimeoutMs} ms. Whether the statement took effect is unknown`,
      )
      discard(connection)
      onLost(connection, lost)
      return lost
    })
  }

  const bind = (sql: string, values: readonly unknown[]): unknown[] => {
    const bound = bindables(values, { dialect: 'mysql', sql, where })
    // The server would close the connection in the middle of the statement, which looks like an outage.
    if (mostBytes(sql, bound) > maxBytes) {
      const bytes = Buffer.byteLength(connection.format(sql, bound)) + 1
      if (bytes > maxBytes) throw databaseErrors.DATABASE_TOO_LARGE(where, bytes, maxBytes)
    }
    return bound
  }

  const run = async (sql: string, values: readonly unknown[]): Promise<MysqlQueryResult> => {
    // Also if it fails: what it did before may stay.
    const mayStay = mayChange(sql)
    isChanged ||= mayStay
    const result = await sent(sql, values)
    const change = sessionChange(result)
    if (change !== undefined) ({ inTransaction } = change)
    // The next transaction has begun.
    if (inTransaction) setsNext = false
    if (isOfNextTransaction(sql)) setsNext = true
    if (change?.isChanged === true || mayStay) await checkSession()
    return result
  }

  const sent = (sql: string, values: readonly unknown[]): Promise<MysqlQueryResult> =>
    new Promise((resolve, reject) => {
      connection.query(sql, bind(sql, values), (error: unknown, result: unknown) => {
        if (error) reject(columnFault(error, where) ?? mapUnavailable(error, `Database ${where} did not complete a statement`))
        else resolve(result as MysqlQueryResult)
      })
    })

  async function* rowsOf<T>(sql: string, values: readonly unknown[]): AsyncIterableIterator<T> {
    const stream = connection.query(sql, bind(sql, values)).stream({ objectMode: true })
    const rows = stream[Symbol.asyncIterator]()
    try {
      // Only the wait for a row counts, not the time the reader spends between rows.
      for (let next = await inTime(() => rows.next()); !next.done; next = await inTime(() => rows.next())) yield next.value
    } finally {
      stream.destroy()
    }
    // A stream does not show what its statement did to the session.
    if (!/^[\s(]*(select|with|show|values|table)\b/i.test(sql)) await inTime(checkSession)
  }

  return {
    query: ((sql: string, values: readonly unknown[], callback?: (error: unknown, result: unknown) => void) => {
      if (callback === undefined) return { stream: () => rowsOf(sql, values) }
      callbackify(() => inTime(() => run(sql, values)))(callback)
      return undefined
    }) as MysqlPoolConnection['query'],
    release: () => (isChanged || inTransaction || setsNext ? close() : connection.release()),
  }
}

/** An upper bound of the size of a statement in which mysql2 has written its values: escaped text, and bytes in hexadecimal. */
function mostBytes(sql: string, values: readonly unknown[]): number {
  let sum = 3 * sql.length + 1
  for (const value of values) sum += 40 + (typeof value === 'string' || Buffer.isBuffer(value) ? 3 * value.length : 0)
  return sum
}

/** mysql2 makes no object of such a row. */
function columnFault(error: unknown, where: string): ZinError | undefined {
  const [, column] = /^The field name \((.{1,100})\) can't be the same as an object's private property/.exec(messageOf(error)) ?? []
  return column === undefined ? undefined : databaseErrors.DATABASE_COLUMN(where, column)
}

/** Maps a driver error to a 503 when the server is unavailable; a deadlock error stays as it is, to be retried. */
function mapUnavailable(error: unknown, what: string): unknown {
  if (!isUnavailable(error) || isConflict(error)) return error
  return Object.assign(databaseErrors.DATABASE_UNAVAILABLE(`${what}: ${reasonOf(error)}`), { cause: error })
}
