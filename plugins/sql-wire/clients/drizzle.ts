import { scanSql } from '../sql-text.js'
import type { SqlDialect } from '../tokens.js'
import type { CallOptions, Result, SqlClient, Statement } from './contract.js'
import type { Param } from './params.js'
import { localError } from './proxy-error.js'

/** Callback for `drizzle-orm/mysql-proxy`. */
export type DrizzleMysqlCallback = (sql: string, params: unknown[], method: 'all' | 'execute') => Promise<{ rows: unknown[] }>

export type DrizzleSqliteMethod = 'run' | 'all' | 'values' | 'get'

/** Callback for `drizzle-orm/sqlite-proxy`. */
export type DrizzleSqliteCallback = (sql: string, params: unknown[], method: DrizzleSqliteMethod) => Promise<{ rows: unknown[] }>

/** Second callback for `drizzle-orm/sqlite-proxy`, for `db.batch`. */
export type DrizzleSqliteBatch = (
  batch: { sql: string; params: unknown[]; method: DrizzleSqliteMethod }[],
) => Promise<{ rows: unknown[] }[]>

/**
 * Connects drizzle to the relational proxy. JSON columns are parsed, which drizzle expects. drizzle does not support transactions over a
 * proxy: use `client.transaction` with `query.toSQL()`.
 *
 * @example
 * import { drizzle } from 'drizzle-orm/mysql-proxy'
 * import { createProxyClient } from 'zin/clients'
 * const client = createProxyClient({ url: 'http://127.0.0.1:8789', proxy: 'rdb', keyId: 'shop', secret })
 * const db = drizzle(drizzleMysql(client))
 */
export function drizzleMysql(client: SqlClient, options: CallOptions = {}): DrizzleMysqlCallback {
  return async (sql, params, method) => {
    const read = isRead(sql, 'mysql')
    // drizzle maps known columns by position. `execute` expects the two parts of a mysql2 result.
    const rowMode = method === 'all' ? 'array' : 'object'
    const result = await client[read ? 'query' : 'exec']<unknown>(sql, params as readonly Param[], { ...options, rowMode, json: 'parse' })
    if (method === 'all') return { rows: (result.rows as readonly unknown[][]).map((row) => row.map(driverValue)) }
    return { rows: read ? [result.rows, result.columns] : [headOf(result)] }
  }
}

/**
 * Connects drizzle to the edge proxy: returns both callbacks. `db.transaction` is refused with TX_NOT_SUPPORTED, because it sends its
 * statements one by one; `db.batch` runs as one transaction.
 *
 * @example
 * import { drizzle } from 'drizzle-orm/sqlite-proxy'
 * import { createProxyClient } from 'zin/clients'
 * const client = createProxyClient({ url: 'http://127.0.0.1:8789', proxy: 'edge', keyId: 'shop', secret })
 * const db = drizzle(...drizzleSqlite(client))
 */
export function drizzleSqlite(client: SqlClient, options: CallOptions = {}): [DrizzleSqliteCallback, DrizzleSqliteBatch] {
  const one: DrizzleSqliteCallback = async (sql, params, method) => {
    refuseControl(sql)
    const call = { ...options, rowMode: 'array' as const }
    return rowsOf(await client[isRead(sql, 'sqlite') ? 'query' : 'exec']<unknown>(sql, params as readonly Param[], call), method)
  }
  const many: DrizzleSqliteBatch = async (batch) => {
    const statements = batch.map(({ sql, params }) => ({ sql, params: params as readonly Param[] }))
    const results = await client.transaction(statements, { ...options, rowMode: 'array' })
    return results.map((result, index) => rowsOf(result, batch[index]?.method ?? 'all'))
  }
  return [one, many]
}

/**
 * Returns the callback for drizzle's `migrate(db, callback, config)`, for either proxy. With the relational proxy the statements run in
 * sequence, because MySQL commits each DDL statement immediately; with the edge proxy they run in transactions of 50.
 *
 * @example
 * import { drizzle } from 'drizzle-orm/sqlite-proxy'
 * import { migrate } from 'drizzle-orm/sqlite-proxy/migrator'
 * import { createProxyClient } from 'zin/clients'
 * const client = createProxyClient({ url: 'http://127.0.0.1:8789', proxy: 'edge', keyId: 'shop', secret })
 * const db = drizzle(...drizzleSqlite(client))
 * await migrate(db, drizzleMigrations(client), { migrationsFolder: 'drizzle' })
 */
export function drizzleMigrations(client: SqlClient, options: CallOptions = {}): (queries: string[]) => Promise<void> {
  return async (queries) => {
    const statements: readonly Statement[] = queries.filter((sql) => sql.trim() !== '').map((sql) => ({ sql }))
    const mode = client.proxy === 'edge' ? 'transaction' : 'sequence'
    for (let at = 0; at < statements.length; at += 50) await client.batch(statements.slice(at, at + 50), { ...options, mode })
  }
}

/** drizzle reads bytes that are no Buffer as a text of zeros in its columns `binary` and `varbinary`. Not every runtime has Buffers. */
function driverValue(value: unknown): unknown {
  return value instanceof Uint8Array && typeof Buffer === 'function' ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value
}

/** Returns a mysql2 result header; drizzle does arithmetic with `insertId`. */
function headOf({ changes, lastInsertId }: Result<unknown>): { readonly insertId: number | bigint; readonly affectedRows: number } {
  const insertId = Number(lastInsertId ?? 0)
  return { insertId: Number.isSafeInteger(insertId) ? insertId : (lastInsertId ?? 0), affectedRows: changes }
}

function rowsOf(result: Result<unknown>, method: DrizzleSqliteMethod): { rows: unknown[] } {
  // For `get`, drizzle expects one row or undefined, although its type says rows.
  return { rows: method === 'get' ? (result.rows[0] as unknown[]) : [...result.rows] }
}

function isRead(sql: string, dialect: SqlDialect): boolean {
  const { kind } = scanSql(sql, dialect)
  return kind === 'read' || kind === 'pragma'
}

/** drizzle begins a transaction with a separate statement, which is refused. */
function refuseControl(sql: string): void {
  if (scanSql(sql, 'sqlite').kind !== 'control') return
  throw localError(
    'TX_NOT_SUPPORTED',
    'The edge proxy does not support interactive transactions; use db.batch, which runs as one transaction',
  )
}
