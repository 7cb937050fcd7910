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
 * Converts an error of D1, which has only a message, to a WireError. Messages of the database may quote data and SQL, so registry mode
 * hides them.
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
    return new WireError('DB_UNAVAILABLE', 'The database is not available', { cause: error })
  if (/exceeded.*(time|cpu)|timed? ?out|SQLITE_INTERRUPT/i.test(words)) return timedOut(error)
  if (/SQLITE_TOOBIG|string or blob too big/i.test(words))
    return new WireError('RESULT_TOO_LARGE', shown('A value exceeds the size limit of the database'), { cause: error })
  if (/SQLITE_(ERROR|MISMATCH|RANGE|READONLY)|syntax error|D1_TYPE_ERROR|Wrong number of parameter/i.test(message))
    return new WireError('SQL_ERROR', shown('The database refused the statement'), { cause: error })
  return new WireError('INTERNAL', 'The request failed', { cause: error })
}

/** Returns the error of a statement that timed out; its outcome is unknown. */
export function timedOut(cause?: unknown): WireError {
  return new WireError('QUERY_TIMEOUT', 'The database did not respond in time', { details: { outcome: 'unknown' }, cause })
}

/** Returns the error of a result over the response limit. @param bytes size of the result, if known. */
export function tooManyBytes(bytes?: number): WireError {
  const { maxResponseBytes } = edgeLimits
  const size = bytes === undefined ? `more than ${maxResponseBytes} bytes` : `${bytes} bytes; the maximum is ${maxResponseBytes}`
  return new WireError('RESULT_TOO_LARGE', `The result has ${size}`, {
    details: { ...(bytes === undefined ? {} : { bytes }), limit: maxResponseBytes, hint: 'Select fewer rows or columns' },
  })
}

/** Returns whether the outcome of a statement is unknown: it may have run. */
export function isUnsettled(error: unknown): boolean {
  return error instanceof WireError && error.details?.outcome === 'unknown'
}

/** Returns whether a statement certainly did not run. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof WireError) || isUnsettled(error)) return false
  return error.code === 'POOL_EXHAUSTED' || error.code === 'SHUTTING_DOWN' || error.details?.outcome === 'cancelled'
}
