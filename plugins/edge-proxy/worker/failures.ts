import { WireError } from 'zin/plugins/sql-wire'
import type { EdgeMode } from './config.js'
import { edgeLimits } from './limits.js'

const constraints: readonly (readonly [RegExp, string])[] = [
  [/UNIQUE constraint failed: (.+?)(?=: SQLITE|$)/, 'unique'],
  [/FOREIGN KEY constraint failed()/, 'foreign_key'],
  [/CHECK constraint failed: (.+?)(?=: SQLITE|$)/, 'check'],
  [/NOT NULL constraint failed: (.+?)(?=: SQLITE|$)/, 'not_null'],
]

/**
 * The error of the wire for one of D1, which has a text only. The words of the database may quote data and SQL: registry mode, whose
 * callers know neither, hides them.
 */
export function wireErrorOf(error: unknown, mode: EdgeMode): WireError {
  if (error instanceof WireError) return error
  const message = error instanceof Error ? error.message : String(error)
  const words = message.replace(/^D1_(ERROR|TYPE_ERROR|EXEC_ERROR): /, '')
  const shown = (text: string): string => (mode === 'sql' ? words : text)
  for (const [pattern, kind] of constraints) {
    const name = pattern.exec(words)?.[1]
    if (name === undefined) continue
    const details = { kind, ...(name === '' ? {} : { constraint: name }) }
    return new WireError('CONSTRAINT_VIOLATION', shown(`A constraint was violated (${kind})`), { details, cause: error })
  }
  if (/SQLITE_CONSTRAINT/.test(words)) return new WireError('CONSTRAINT_VIOLATION', shown('A constraint was violated'), { cause: error })
  if (/SQLITE_AUTH|not authorized/i.test(words))
    return new WireError('STATEMENT_NOT_ALLOWED', shown('The database does not allow this statement'), { cause: error })
  if (/SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|PROTOCOL)|network connection lost|overloaded|storage.*reset|database is locked/i.test(words))
    return new WireError('DB_UNAVAILABLE', 'The database is not available now', { cause: error })
  if (/exceeded.*(time|cpu)|timed? ?out|SQLITE_INTERRUPT/i.test(words)) return timedOut(error)
  if (/SQLITE_TOOBIG|string or blob too big/i.test(words))
    return new WireError('RESULT_TOO_LARGE', shown('A value is larger than the database takes'), { cause: error })
  if (/SQLITE_(ERROR|MISMATCH|RANGE|READONLY)|syntax error|D1_TYPE_ERROR|Wrong number of parameter/i.test(message))
    return new WireError('SQL_ERROR', shown('The database refused the statement'), { cause: error })
  return new WireError('INTERNAL', 'The request failed', { cause: error })
}

/** The error of a statement without a response in time; whether it ran is not known. */
export function timedOut(cause?: unknown): WireError {
  return new WireError('QUERY_TIMEOUT', 'The database did not respond in time', { details: { outcome: 'unknown' }, cause })
}

/** The error of a result over the limit of a response. @param bytes default: more than the limit. */
export function tooManyBytes(bytes?: number): WireError {
  const { maxResponseBytes } = edgeLimits
  const size = bytes === undefined ? `more than ${maxResponseBytes} bytes` : `${bytes} bytes; ${maxResponseBytes} is the most`
  return new WireError('RESULT_TOO_LARGE', `The result has ${size}`, {
    details: { ...(bytes === undefined ? {} : { bytes }), limit: maxResponseBytes, hint: 'Ask for fewer rows or columns' },
  })
}

/** Whether nothing tells what became of a statement: it may have run. */
export function isUnsettled(error: unknown): boolean {
  return error instanceof WireError && error.details?.outcome === 'unknown'
}

/** Whether a statement had no chance to run. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof WireError) || isUnsettled(error)) return false
  return error.code === 'POOL_EXHAUSTED' || error.code === 'SHUTTING_DOWN' || error.details?.outcome === 'cancelled'
}
