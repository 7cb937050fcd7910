import {
  type ArrayRow,
  type Column,
  type ExecResult,
  type ObjectRow,
  type OneResult,
  type QueryResult,
  type ResultMeta,
  type Row,
  type RowMode,
  WireError,
} from 'zin/plugins/sql-wire'
import type { StepResult } from './steps.js'

/** Returns the body of a read. */
export function queryBody({ columns, rows }: StepResult, rowMode: RowMode, meta: ResultMeta): QueryResult {
  return { ok: true, rows: rowsOf(columns, rows, rowMode), rowCount: rows.length, columns, meta: { ...meta, rowsReturned: rows.length } }
}

/** Returns the body of a read of one row. */
export function oneBody({ columns, rows }: StepResult, rowMode: RowMode, meta: ResultMeta): OneResult {
  const [row = null] = rowsOf(columns, rows.slice(0, 1), rowMode)
  const multiple = rows.length > 1 ? { multiple: true } : {}
  return { ok: true, row, columns, meta: { ...meta, rowsReturned: row === null ? 0 : 1, ...multiple } }
}

/** Returns the body of a write. @param rowId id of the last inserted row. */
export function execBody({ columns, rows, changes }: StepResult, rowId: string | null, rowMode: RowMode, meta: ResultMeta): ExecResult {
  const lastInsertId = changes > 0 ? rowId : null
  const own = { changes, changedRows: changes, lastRowId: lastInsertId, warnings: 0, replayed: false }
  return { ok: true, rowCount: changes, lastInsertId, rows: rowsOf(columns, rows, rowMode), columns, meta: { ...own, ...meta } }
}

/** Throws DUPLICATE_COLUMN if rows as objects would lose a column. Called before the statement runs. */
export function refuseDuplicates(names: readonly string[], rowMode: RowMode): void {
  const twice = rowMode === 'array' ? undefined : names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined)
    throw new WireError('DUPLICATE_COLUMN', `Two columns are named ${JSON.stringify(twice)}; rename one with AS, or use rowMode "array"`)
}

function rowsOf(columns: readonly Column[], rows: readonly ArrayRow[], rowMode: RowMode): readonly Row[] {
  if (rowMode === 'array') return rows
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])) as ObjectRow)
}
