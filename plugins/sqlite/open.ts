import { tokensOf } from 'zin/plugins/sql-wire'
import { type Bindable, type LoadedBinding, loadBinding, type NativeDatabase, type NativeStatement, type Refused } from './binding.js'
import { codeName } from './codes.js'
import { exactNumbers } from './exact.js'
import { bindables, resultValue } from './values.js'

export type SqliteRow = Record<string, unknown>

/** An error of SQLite; the code is the name of its result code, such as `SQLITE_CONSTRAINT_UNIQUE`. */
export class SqliteError extends Error {
  override readonly name = 'SqliteError'
  readonly code: string

  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** A prepared statement; its values belong to the placeholders by position. */
export interface SqliteStatement {
  /** Names of the columns; empty if it returns no rows. */
  readonly columns: readonly string[]
  /** Whether it returns rows. */
  readonly reader: boolean
  all(values: readonly unknown[]): SqliteRow[]
  run(values: readonly unknown[]): { readonly changes: bigint; readonly lastInsertRowid: bigint }
  iterate(values: readonly unknown[]): IterableIterator<SqliteRow>
  /** Rows without names. An iteration that is not finished can block other statements. */
  arrays(values: readonly unknown[]): IterableIterator<readonly unknown[]>
}

/** An open SQLite file. Everything in it runs in this thread, and throws a {@link SqliteError} or another error with a code. */
export interface SqliteDatabase {
  /** Whether a transaction is open. */
  readonly inTransaction: boolean
  /** Runs statements without values and results. */
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  /**
   * Refuses what SQLite finds in the statements prepared from now on, in whatever words: they fail with SQLITE_AUTH. Does nothing with
   * Node 22.16 to 24.9, whose binding has no authorizer.
   */
  refuse(refused: Refused): void
  close(): void
}

/**
 * Opens a SQLite file, or `:memory:`, with the binding of this Node: `node:sqlite`, or a package for versions without it. Values and errors
 * are the same with both.
 *
 * @example
 * const file = openSqlite('report.db')
 * file.prepare('insert into lines (text, done) values (?, ?)').run(['first', true])
 * file.close()
 */
export function openSqlite(path: string, { binding, isStandIn }: LoadedBinding = loadBinding()): SqliteDatabase {
  const native = withCode(() => new binding.DatabaseSync(path))
  return {
    get inTransaction() {
      return native.isTransaction
    },
    exec: (sql) => withCode(() => native.exec(sql)),
    prepare: (sql) => new Statement(native, sql, isStandIn),
    refuse: (refused) => native.setAuthorizer?.((...action) => (refused(...action) ? denied : 0)),
    close: () =>
      withCode(() => {
        native.setAuthorizer?.(null)
        return isStandIn ? closeWithStatements(native) : native.close()
      }),
  }
}

/** SQLITE_DENY. */
const denied = 1

/** The package keeps the file open until its statements are collected; this writes everything to the file and releases the lock. */
function closeWithStatements(native: NativeDatabase): void {
  try {
    if (native.isTransaction) native.exec('rollback')
    native.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // The next process to open the file does it.
  }
  native.close()
}

class Statement implements SqliteStatement {
  readonly #database: NativeDatabase
  readonly #sql: string
  readonly #isStandIn: boolean
  readonly #native: NativeStatement

  constructor(database: NativeDatabase, sql: string, isStandIn: boolean) {
    this.#database = database
    this.#sql = sql
    this.#isStandIn = isStandIn
    if (!hasStatement(sql)) throw new SqliteError('The SQL has no statement, or contains a NUL character', 'SQLITE_ERROR', undefined)
    this.#native = withCode(() => prepared(database, sql))
  }

  get columns(): readonly string[] {
    return withCode(() => namesOf(this.#native))
  }

  get reader(): boolean {
    // The names take as long as the statement.
    return /^\s*select\b/i.test(this.#sql) || this.columns.length > 0
  }

  all(values: readonly unknown[]): SqliteRow[] {
    return withCode(() =>
      this.#with(values, (statement, bound) => {
        const rows = statement.all(...bound)
        if (rows.length === 0) return []
        const names = this.#namesIn(statement)
        return rows.map((row) => rowOf(names, row))
      }),
    )
  }

  run(values: readonly unknown[]): { readonly changes: bigint; readonly lastInsertRowid: bigint } {
    const { changes, lastInsertRowid } = withCode(() => this.#with(values, (statement, bound) => statement.run(...bound)))
    return { changes: BigInt(changes), lastInsertRowid: BigInt(lastInsertRowid) }
  }

  *iterate(values: readonly unknown[]): IterableIterator<SqliteRow> {
    let names: readonly string[] | undefined
    for (const [row, statement] of this.#rows(values)) {
      names ??= withCode(() => this.#namesIn(statement))
      yield rowOf(names, row)
    }
  }

  *arrays(values: readonly unknown[]): IterableIterator<readonly unknown[]> {
    for (const [row] of this.#rows(values)) yield (row as readonly unknown[]).map(resultValue)
  }

  *#rows(values: readonly unknown[]): IterableIterator<readonly [row: unknown, statement: NativeStatement]> {
    const { statement, rows } = withCode(() =>
      this.#with(values, (statement, bound) => ({ statement, rows: statement.iterate(...bound)[Symbol.iterator]() })),
    )
    try {
      for (let next = withCode(() => rows.next()); next.done !== true; next = withCode(() => rows.next())) yield [next.value, statement]
    } finally {
      rows.return?.()
    }
  }

  /** The names in the results of a statement that ran: those of the SQL that was given, not of one that was changed. */
  #namesIn(statement: NativeStatement): readonly string[] {
    return namesOf(statement === this.#native ? statement : prepared(this.#database, this.#sql))
  }

  #with<T>(values: readonly unknown[], run: (statement: NativeStatement, bound: readonly Bindable[]) => T): T {
    const bound = bindables(values)
    const exact = this.#isStandIn ? exactNumbers(this.#sql, bound) : undefined
    return exact ? run(prepared(this.#database, exact.sql), exact.values) : run(this.#native, bound)
  }
}

/** Without one, Node 22 prepares a statement that ends the process when it is collected. */
function hasStatement(sql: string): boolean {
  if (sql.includes('\0')) return false
  return /^\s*[a-z]/i.test(sql) || tokensOf(sql, 'sqlite').tokens.some(({ text }) => text !== ';')
}

/** As they are since the statement ran: SQLite prepares it anew if the schema has changed. */
function namesOf(statement: NativeStatement): readonly string[] {
  return statement.columns().map(({ name }) => name)
}

function prepared(database: NativeDatabase, sql: string): NativeStatement {
  const statement = database.prepare(sql)
  // Without it, an integer beyond 2^53 in a result would be an error.
  statement.setReadBigInts(true)
  statement.setReturnArrays(true)
  return statement
}

function rowOf(columns: readonly string[], values: unknown): SqliteRow {
  const row: SqliteRow = {}
  for (let at = 0; at < columns.length; at++) {
    const name = columns[at] as string
    const value = resultValue((values as readonly unknown[])[at])
    // An assignment would set the prototype.
    if (name === '__proto__') Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true })
    else row[name] = value
  }
  return row
}

function withCode<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code, errcode, message } = error as { readonly code?: unknown; readonly errcode?: unknown; readonly message: string }
    if (typeof code === 'string' && code !== '' && code !== 'ERR_SQLITE_ERROR') throw error
    throw new SqliteError(message, codeName(errcode, message), error)
  }
}
