import type { ExecResult, OneResult, QueryResult, ResultMeta, StatementResult } from 'zin/plugins/sql-wire'
import type { RunResult } from './sql/gateway.js'

/** Time zone of all sessions of the proxy. */
const timezone = '+00:00'

const ms = (value: number): number => Math.round(value * 1000) / 1000

/** Returns the body of a read. */
export function queryResult({ collected, dbMs }: RunResult, requestId?: string): QueryResult {
  const { rows, columns } = collected
  return { ok: true, rows, rowCount: rows.length, columns, meta: readMeta(requestId, dbMs, rows.length) }
}

/** Returns the body of a read of one row; `meta.multiple` is set if there were more. */
export function oneResult({ collected, dbMs }: RunResult, requestId?: string): OneResult {
  const { rows, columns } = collected
  const meta = readMeta(requestId, dbMs, Math.min(1, rows.length))
  return { ok: true, row: rows[0] ?? null, columns, meta: rows.length > 1 ? { ...meta, multiple: true } : meta }
}

function readMeta(requestId: string | undefined, dbMs: number, rowsReturned: number): ResultMeta {
  return ofRequest({ dbMs: ms(dbMs), timezone, rowsReturned }, requestId)
}

/** Adds the request id in place: a copy would cost more than the rest of a small result. */
function ofRequest(meta: ResultMeta & { requestId?: string }, requestId: string | undefined): ResultMeta {
  if (requestId !== undefined) meta.requestId = requestId
  return meta
}

/** Returns the body of a write. A statement with RETURNING counts its returned rows as changed. */
export function execResult({ changes, collected, dbMs }: RunResult, requestId?: string): ExecResult {
  const { rows, columns } = collected
  const rowCount = changedBy(changes, rows.length)
  const lastInsertId = insertIdOf(changes?.insertId)
  const meta = {
    changes: rowCount,
    changedRows: changes?.changedRows ?? 0,
    lastRowId: lastInsertId,
    warnings: changes?.warningStatus ?? 0,
    replayed: false,
    dbMs: ms(dbMs),
  }
  return { ok: true, rowCount, lastInsertId, rows, columns, meta: ofRequest(meta, requestId) }
}

/** Returns the number of rows that a statement matched, inserted or returned. */
export function changedBy(changes: RunResult['changes'], returned: number): number {
  return changes === undefined ? returned : Number(changes.affectedRows)
}

/** The driver reads ids as signed; ids of BIGINT UNSIGNED may exceed that range. */
function insertIdOf(id: number | string | undefined): string | null {
  if (id === undefined || Number(id) === 0) return null
  return BigInt.asUintN(64, BigInt(id)).toString()
}

/** Returns a copy of the body with additional `meta` fields. */
export function withMeta<R extends StatementResult>(result: R, meta: ResultMeta): R {
  return { ...result, meta: { ...result.meta, ...meta } }
}
