import { type ArrayRow, type Column, tokensOf, WireError } from 'zin/plugins/sql-wire'
import { type BoundSql, bindParams } from './bind.js'
import { cellOf, exactCell } from './cells.js'
import type { EdgeResult, EdgeStatement, EdgeValue } from './d1.js'
import type { Describe } from './describe.js'
import { exactReturning, returningOf } from './returning.js'
import { insertsRows, type ReadyStatement } from './statement.js'
import type { TimedDatabase } from './timed-database.js'

/** Result of a statement. */
export interface StepResult {
  readonly columns: readonly Column[]
  readonly rows: readonly ArrayRow[]
  /** Number of rows changed by a write. */
  readonly changes: number
}

/** One statement of a request, prepared for a batch. */
export interface Step {
  readonly statement: ReadyStatement
  readonly run: EdgeStatement
  /** Column names of a read or of a write with RETURNING; empty without rows and for query plans. */
  readonly names: readonly string[]
  /** Whether it may insert rows. */
  readonly inserts: boolean
  /** A write that changes more rows fails with this code. */
  readonly limit: { readonly most: number; readonly code: 'TOO_MANY_CHANGES' | 'RESULT_TOO_LARGE' } | undefined
  result(result: EdgeResult): StepResult
}

export interface StepOptions {
  readonly db: TimedDatabase
  readonly describe: Describe
  readonly maxRows: number
  /** Time limit for describing it, in ms. */
  readonly ms: number
}

/** Prepares a statement so that D1 returns its values without loss. */
export async function stepOf(statement: ReadyStatement, options: StepOptions): Promise<Step> {
  const bound = bindParams(statement.sql, statement.tokens, statement.params)
  if (statement.scan.keyword === 'EXPLAIN') return explainStep(statement, bound, options)
  return statement.kind === 'write' ? writeStep(statement, bound, options) : readStep(statement, bound, options)
}

async function readStep(
  statement: ReadyStatement,
  { sql, values, plain }: BoundSql,
  { db, describe, maxRows, ms }: StepOptions,
): Promise<Step> {
  const inner = bare(sql)
  const names = await describe(`SELECT * FROM (\n${bare(statement.sql)}\n) LIMIT 0`, plain, ms)
  const columns = names.map((_name, index) => `c${index}`)
  const cells = columns.map((column) => `${exactCell(column)} AS ${column}`)
  const limit = `LIMIT ${maxRows + 1}`
  // Both limits are needed: without the inner one, SQLite would merge the queries and compute a column several times.
  const inExact = `SELECT * FROM (\n${inner}\n) ${limit}`
  const exact = `WITH zin_rows(${columns.join(', ')}) AS (${inExact}) SELECT ${cells.join(', ')} FROM zin_rows ${limit}`
  return {
    statement,
    run: bind(db, exact, values),
    names: names.map(originalName),
    inserts: false,
    limit: undefined,
    result: ({ results }) => ({ ...decoded(results, names.map(originalName)), changes: 0 }),
  }
}

/** Prepares EXPLAIN, which runs nothing and returns only small numbers and text. */
function explainStep(statement: ReadyStatement, { sql, values }: BoundSql, { db }: StepOptions): Step {
  return {
    statement,
    run: bind(db, sql, values),
    names: [],
    inserts: false,
    limit: undefined,
    result: ({ results }) => {
      const names = Object.keys(results[0] ?? {})
      return { columns: columnsOf(names), rows: results.map((row) => names.map((name) => cellOf(row[name]))), changes: 0 }
    },
  }
}

async function writeStep(statement: ReadyStatement, { sql, values }: BoundSql, { db, describe, maxRows, ms }: StepOptions): Promise<Step> {
  const writes = statement.scan.kind === 'write'
  const returning = writes ? returningOf(sql) : undefined
  const table = returning?.items.includes('*') ? await describe(`SELECT * FROM ${returning.table} LIMIT 0`, [], ms) : []
  const exact = returning === undefined ? undefined : exactReturning(returning, table)
  return {
    statement,
    run: bind(db, exact?.sql ?? sql, values),
    names: exact?.names ?? [],
    inserts: writes && insertsRows(statement),
    limit: writes ? limitOf(statement.maxChanges, exact === undefined ? undefined : maxRows) : undefined,
    result: ({ results, meta }) => ({
      ...(exact === undefined ? { columns: [], rows: [] } : decoded(results, exact.names)),
      changes: writes ? (meta.changes ?? 0) : 0,
    }),
  }
}

function limitOf(maxChanges: number | undefined, maxRows: number | undefined): Step['limit'] {
  if (maxChanges !== undefined && maxChanges <= (maxRows ?? maxChanges)) return { most: maxChanges, code: 'TOO_MANY_CHANGES' }
  return maxRows === undefined ? undefined : { most: maxRows, code: 'RESULT_TOO_LARGE' }
}

function decoded(results: EdgeResult['results'], names: readonly string[]): Pick<StepResult, 'columns' | 'rows'> {
  return { columns: columnsOf(names), rows: results.map((row) => names.map((_name, index) => cellOf(row[`c${index}`]))) }
}

function columnsOf(names: readonly string[]): readonly Column[] {
  return names.map((name) => ({ name, type: 'dynamic' }))
}

/** Restores a column name: SQLite renames the second column `a` of a subquery to `a:1`. */
function originalName(name: string, index: number, all: readonly string[]): string {
  const [, base] = /^(.*):\d+$/s.exec(name) ?? []
  return base !== undefined && all.slice(0, index).some((other) => other.toLowerCase() === base.toLowerCase()) ? base : name
}

/** Returns the statement without surrounding semicolons. */
function bare(sql: string): string {
  const { tokens } = tokensOf(sql, 'sqlite')
  const isEnd = ({ kind, text }: { readonly kind: string; readonly text: string }): boolean => kind === 'symbol' && text === ';'
  const start = tokens.findIndex((token) => !isEnd(token))
  const end = tokens.findIndex((token, index) => index > start && isEnd(token))
  return sql.slice(tokens[start]?.at ?? 0, tokens[end]?.at ?? sql.length)
}

function bind(db: TimedDatabase, sql: string, values: readonly EdgeValue[]): EdgeStatement {
  const prepared = db.prepare(sql)
  return values.length === 0 ? prepared : prepared.bind(...values)
}

/** Returns the error of a result over the row limit. */
export function tooManyRows(limit: number): WireError {
  return new WireError('RESULT_TOO_LARGE', `The result has more than ${limit} rows`, {
    details: { limit, hint: 'Select fewer rows with LIMIT, or raise options.maxRows up to the limit of the proxy' },
  })
}
