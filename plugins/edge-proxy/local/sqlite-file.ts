import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { openSqlite, type SqliteStatement as Prepared, type SqliteDatabase } from 'zin/plugins/sqlite'
import { describingPragmas } from '../worker/pragmas.js'
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
  const db = openSqlite(path)
  db.exec('pragma busy_timeout = 5000')
  db.exec('pragma journal_mode = wal')
  db.exec('pragma synchronous = full')
  db.exec('pragma foreign_keys = on')

  const prepare = preparer(db)
  db.refuse(changesConnection)
  return {
    run({ statements, atomic }) {
      const budget = new Budget(maxBytes)
      const all = (): readonly SqliteResult[] => statements.map((statement) => resultOf(db, prepare, statement, budget))
      return inD1Words(() => (atomic ? transaction(db, all) : all()))
    },
    close: () => db.close(),
  }
}

/** Pragmas that full-text and R-tree tables read themselves. */
const ofModules = new Set(['data_version', 'page_size'])
/** Codes with which the authorizer of SQLite names an action. */
const [pragma, attach, detach] = [19, 24, 25]
const createTemporary = new Set([3, 4, 5, 6])
const create = new Set([1, 2, 7, 8, 29])

/** Whether it changes the connection, which all callers share, or shows its file. The worker refuses that by the text, this by its meaning. */
function changesConnection(action: number, name: string | null, value: string | null, schema: string | null): boolean {
  if (action === attach || action === detach || createTemporary.has(action)) return true
  if (create.has(action)) return schema === 'temp'
  return action === pragma && !describingPragmas.has(name ?? '') && !(ofModules.has(name ?? '') && value === null)
}

type Prepare = (sql: string) => Prepared

/** Functions and tables of some builds that access files, run SQL, or expose database pages and statements of other callers. */
const unsafe = ['fsdir', 'readfile', 'sha3_query', 'sqlite_dbpage', 'sqlite_stmt', 'writefile']

/**
 * Returns a function that prepares statements, but refuses what a build of SQLite may have beyond D1: functions that access files, run SQL or
 * load code. Checks the text, because names cannot be written in any other way and not every binding has an authorizer.
 */
function preparer(db: SqliteDatabase): Prepare {
  const directOnly = 0x80000
  const functions = db.prepare('select distinct name from pragma_function_list where flags & ?').arrays([directOnly])
  const refused = new RegExp(`\\b(${[...functions, unsafe].flat().join('|')})\\b`, 'i')
  return (sql) => {
    const [name] = refused.exec(sql) ?? []
    if (name !== undefined) throw Object.assign(new Error(`not authorized to use ${name}`), { code: 'SQLITE_AUTH' })
    return db.prepare(sql)
  }
}

/** Locks first: a transaction that reads before it writes fails when another process writes in between. */
function transaction<T>(db: SqliteDatabase, work: () => T): T {
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

function resultOf(db: SqliteDatabase, prepare: Prepare, { sql, values }: SqliteStatement, budget: Budget): SqliteResult {
  const prepared = prepare(sql)
  if (!prepared.reader) return { names: [], rows: [], changes: Number(prepared.run(values).changes) }
  const rows: (readonly unknown[])[] = []
  for (const row of prepared.arrays(values)) {
    if (!budget.takes(row)) throw new TooLargeError()
    rows.push(row)
  }
  // Valid for a write with RETURNING; not used after a read.
  const [[changes] = [0]] = [...db.prepare('select changes()').arrays([])] as readonly (readonly number[])[]
  return { names: prepared.columns, rows, changes: changes ?? 0 }
}

class Budget {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  takes(row: readonly unknown[]): boolean {
    for (const value of row) this.#left -= 8 + (typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.length : 0)
    return this.#left >= 0
  }
}

/** Formats errors like D1, with the SQLite code after the message. */
function inD1Words<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof TooLargeError) throw error
    const { message, code } = error as Error & { readonly code?: unknown }
    // Node has other codes for SQL without a statement and the like.
    const shown = typeof code === 'string' && code.startsWith('SQLITE_') ? code : 'SQLITE_ERROR'
    throw new Error(`D1_ERROR: ${message}: ${shown}`, { cause: error })
  }
}
