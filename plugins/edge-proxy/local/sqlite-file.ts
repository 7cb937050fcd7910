import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { firstKeyword } from 'zin/plugins/sql-wire'
import type { SqliteRequest, SqliteResult, SqliteStatement } from './sqlite-protocol.js'

/** A SQLite file; its statements run in this thread. */
export interface SqliteFile {
  /** Throws a {@link TooLargeError}, or errors with messages like those of D1. */
  run(request: SqliteRequest): readonly SqliteResult[]
  close(): void
}

/** The results exceed the size limit; nothing was written. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError'
}

/** Opens the file, readable only by its owner. @param maxBytes maximum size of the results of a request, counting 8 extra bytes for each value. */
export function openSqliteFile(path: string, maxBytes: number): SqliteFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (process.platform !== 'win32') {
    closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
  }
  const db = new Database(path)
  db.exec('pragma busy_timeout = 5000')
  db.exec('pragma journal_mode = wal')
  db.exec('pragma synchronous = full')
  db.exec('pragma foreign_keys = on')

  const prepare = preparer(db)
  return {
    run({ statements, atomic }) {
      const budget = new Budget(maxBytes)
      const all = (): readonly SqliteResult[] => statements.map((statement) => resultOf(db, prepare, statement, budget))
      return inD1Words(() => (atomic ? transaction(db, all) : all()))
    },
    close: () => db.close(),
  }
}

type Prepare = (sql: string) => Database.Statement

/** Tables that expose files, database pages and statements of other callers. */
const unsafeTables = ['fsdir', 'sqlite_dbpage', 'sqlite_stmt']

/**
 * Returns a function that prepares statements, but refuses what libsql has beyond D1: functions that access files, run SQL or set keys.
 * Checks the text, because names cannot be written in any other way and libsql's authorizer covers only tables.
 */
function preparer(db: Database.Database): Prepare {
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

/** Locks first: a prepared statement of libsql that finds the file locked stays open, which makes every later commit fail. */
function transaction<T>(db: Database.Database, work: () => T): T {
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

function resultOf(db: Database.Database, prepare: Prepare, { sql, values }: SqliteStatement, budget: Budget): SqliteResult {
  const prepared = prepare(sql)
  // A single Buffer would be mistaken for named parameters.
  const bound = [...values]
  if (!prepared.reader) return { names: [], rows: [], changes: prepared.run(bound).changes }
  const names = prepared.columns().map(({ name }) => name)
  const rows: (readonly unknown[])[] = []
  // Always iterate to the end: an open statement blocks writes to the file.
  for (const row of prepared.raw(true).iterate(bound) as Iterable<readonly unknown[]>) if (budget.takes(row)) rows.push(row)
  // The plan of a write stays open after its last row, which makes every later commit fail; this closes it.
  if (firstKeyword(sql, 'sqlite') === 'EXPLAIN') prepared.get(bound)
  if (budget.isSpent) throw new TooLargeError()
  // Valid for a write with RETURNING; not used after a read.
  const [[changes] = [0]] = db.prepare('select changes()').raw(true).all([]) as readonly (readonly number[])[]
  return { names, rows, changes: changes ?? 0 }
}

class Budget {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  get isSpent(): boolean {
    return this.#left < 0
  }

  takes(row: readonly unknown[]): boolean {
    for (const value of row) this.#left -= 8 + (typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.length : 0)
    return !this.isSpent
  }
}

/** Formats errors like D1, with the SQLite code after the message. */
function inD1Words<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof TooLargeError) throw error
    const { message, code } = error as Error & { readonly code?: unknown }
    throw new Error(`D1_ERROR: ${message}: ${typeof code === 'string' ? code : 'SQLITE_ERROR'}`, { cause: error })
  }
}
