import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type Libsql from 'libsql'
import { firstKeyword } from 'zin/plugins/sql-wire'
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

  const prepare = preparer(db)
  const statement = (sql: string, values: readonly EdgeValue[]): LocalStatement => ({
    sql,
    values,
    bind: (...bound) => statement(sql, bound),
    raw: async () => inD1Words(() => rawOf(prepare(sql), values)),
  })
  return {
    prepare: (sql) => statement(sql, []),
    batch: async (statements) =>
      inD1Words(() => transaction(db, () => (statements as unknown as readonly LocalStatement[]).map((one) => run(db, prepare, one)))),
    close: () => db.close(),
  }
}

type Prepare = (sql: string) => Libsql.Statement

/** Tables that show files, pages of the database and statements of others. */
const unsafeTables = ['fsdir', 'sqlite_dbpage', 'sqlite_stmt']

/**
 * Prepares statements without what libsql has beyond D1: functions that read and write files of this machine, run SQL or set keys. By the
 * text alone: no name can be written in another way, and its authorizer knows tables only.
 */
function preparer(db: Libsql.Database): Prepare {
  const directOnly = 0x80000
  const functions = db
    .prepare("select distinct name from pragma_function_list where flags & ? or name like 'sqlite3mc%'")
    .raw(true)
    .all([directOnly]) as readonly (readonly [string])[]
  const unsafe = new RegExp(`\\b(${[...functions.flat(), ...unsafeTables].join('|')})\\b`, 'i')
  return (sql) => {
    const [name] = unsafe.exec(sql) ?? []
    if (name !== undefined) throw Object.assign(new Error(`not authorized to use ${name}`), { code: 'SQLITE_AUTH' })
    return db.prepare(sql)
  }
}

function rawOf(prepared: Libsql.Statement, values: readonly EdgeValue[]): readonly (readonly unknown[])[] {
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

function run(db: Libsql.Database, prepare: Prepare, { sql, values }: LocalStatement): EdgeResult {
  const prepared = prepare(sql)
  // A Buffer alone would be taken for named parameters.
  const bound = [...values]
  if (!prepared.reader) return { results: [], meta: { changes: prepared.run(bound).changes } }
  const names = prepared.columns().map(({ name }) => name)
  const rows = prepared.raw(true).all(bound) as readonly (readonly unknown[])[]
  const results = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])))
  // The plan of a write stays open behind its last row, and no later commit would succeed; this closes it.
  if (firstKeyword(sql, 'sqlite') === 'EXPLAIN') prepared.get(bound)
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
