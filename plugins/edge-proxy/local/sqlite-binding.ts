import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type Libsql from 'libsql'
import type { EdgeBinding, EdgeResult, EdgeStatement, EdgeValue } from '../worker/d1.js'

/** A SQLite file with the methods of a D1 binding. */
export interface SqliteBinding extends EdgeBinding {
  close(): void
}

interface LocalStatement extends EdgeStatement {
  readonly sql: string
  readonly values: readonly EdgeValue[]
}

/** Opens the file, which only its owner may read. Statements run in this thread, and nothing else runs meanwhile. */
export async function openSqliteBinding(file: string): Promise<SqliteBinding> {
  const { default: Database } = await import('libsql')
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (process.platform !== 'win32') {
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  }
  const db = new Database(file)
  db.exec('pragma busy_timeout = 5000')
  db.exec('pragma journal_mode = wal')
  db.exec('pragma synchronous = full')
  db.exec('pragma foreign_keys = on')

  const statement = (sql: string, values: readonly EdgeValue[]): LocalStatement => ({
    sql,
    values,
    bind: (...bound) => statement(sql, bound),
    raw: async () => inD1Words(() => rawOf(db, sql, values)),
  })
  return {
    prepare: (sql) => statement(sql, []),
    batch: async (statements) =>
      inD1Words(() => transaction(db, () => (statements as unknown as readonly LocalStatement[]).map((one) => run(db, one)))),
    close: () => db.close(),
  }
}

function rawOf(db: Libsql.Database, sql: string, values: readonly EdgeValue[]): readonly (readonly unknown[])[] {
  const prepared = db.prepare(sql)
  const names = prepared.columns().map(({ name }) => name)
  return [names, ...(prepared.raw(true).all([...values]) as readonly (readonly unknown[])[])]
}

/** Locks first: a prepared statement of libsql that finds the file locked stays open, and no later commit would succeed. */
function transaction<T>(db: Libsql.Database, work: () => T): T {
  db.exec('begin immediate')
  try {
    const result = work()
    db.exec('commit')
    return result
  } catch (error) {
    if (db.inTransaction) db.exec('rollback')
    throw error
  }
}

function run(db: Libsql.Database, { sql, values }: LocalStatement): EdgeResult {
  const prepared = db.prepare(sql)
  // A Buffer alone would be taken for named parameters.
  const bound = [...values]
  if (!prepared.reader) return { results: [], meta: { changes: prepared.run(bound).changes } }
  const names = prepared.columns().map(({ name }) => name)
  const rows = prepared.raw(true).all(bound) as readonly (readonly unknown[])[]
  const results = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])))
  // Of the write itself, when it has RETURNING; after a read nobody looks.
  const [[changes] = [0]] = db.prepare('select changes()').raw(true).all([]) as readonly (readonly number[])[]
  return { results, meta: { changes: changes ?? 0 } }
}

/** D1 puts the code of SQLite behind its words. */
function inD1Words<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { message, code } = error as Error & { readonly code?: unknown }
    throw new Error(`D1_ERROR: ${message}: ${typeof code === 'string' ? code : 'SQLITE_ERROR'}`, { cause: error })
  }
}
