import type { Column, ResultMeta } from '../wire.js'
import type { Result } from './contract.js'
import { localError } from './proxy-error.js'
import { type DecodeOptions, decodeRows } from './rows.js'

/** Decodes a wire result of any kind. */
export function resultOf<Row>(body: unknown, options: DecodeOptions): Result<Row> {
  const { rows, row, columns, rowCount, lastInsertId, meta } = fieldsOf(body)
  const list = row === undefined ? (rows ?? []) : row === null ? [] : [row]
  if (!Array.isArray(list) || !Array.isArray(columns)) throw malformed()
  decodeRows(list, columns as readonly Column[], options)
  const facts = (meta ?? {}) as ResultMeta
  return {
    rows: list as readonly Row[],
    columns: columns as readonly Column[],
    rowCount: typeof rowCount === 'number' ? rowCount : list.length,
    changes: facts.changes ?? 0,
    changedRows: facts.changedRows,
    lastInsertId: typeof lastInsertId === 'string' && /^\d{1,20}$/.test(lastInsertId) ? BigInt(lastInsertId) : undefined,
    meta: facts,
  }
}

/** Decodes the results of a batch. */
export function resultsOf(body: unknown, options: DecodeOptions): readonly Result[] {
  const { results } = fieldsOf(body)
  if (!Array.isArray(results)) throw malformed()
  return results.map((result) => resultOf(result, options))
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null) throw malformed()
  return body as Readonly<Record<string, unknown>>
}

function malformed() {
  return localError('INVALID_RESPONSE', 'The response lacks rows or columns', { status: 200 })
}
