import { isUnavailable } from 'zin/plugins/database'
import { type ErrorDetails, WireError, type WireErrorCode } from 'zin/plugins/sql-wire'

interface Facts {
  readonly errno: number
  readonly code: string
  readonly sqlState: string
  readonly message: string
}

const constraintKinds: ReadonlyMap<number, string> = new Map([
  [1062, 'unique'],
  [1586, 'unique'],
  [1169, 'unique'],
  [1451, 'foreign_key'],
  [1452, 'foreign_key'],
  [1216, 'foreign_key'],
  [1217, 'foreign_key'],
  [1048, 'not_null'],
  [1364, 'not_null'],
  // Check constraints of MySQL and of MariaDB; the driver has a wrong name for the latter.
  [3819, 'check'],
  [4025, 'check'],
])

/** Deadlock, lock wait timeout, a row changed since it was read (MariaDB), and NOWAIT on a locked row. */
const conflicts: ReadonlySet<number> = new Set([1213, 1205, 1020, 3572])
const logins: ReadonlySet<number> = new Set([1044, 1045, 1049, 1698, 4151])
/** Write in a read-only transaction, or on a server started read-only. */
const readOnly: ReadonlySet<number> = new Set([1792, 1290, 1836])
/** The user lacks a privilege on a database, a table, a column or a routine, or a global one. */
const denied: ReadonlySet<number> = new Set([1044, 1142, 1143, 1227, 1370, 1410])
/** Interrupted by KILL QUERY, by `max_statement_time` (MariaDB) or by `max_execution_time` (MySQL). */
const interrupted: ReadonlySet<number> = new Set([1317, 1969, 3024])

/** Error number for statements that cannot be prepared. */
export const UNPREPARABLE = 1295

/** Returns whether the server reported that it interrupted the statement. */
export function wasInterrupted(error: unknown): boolean {
  return interrupted.has(factsOf(error).errno)
}

/** Returns whether the server refused the statement because the user lacks a privilege. */
export function wasDenied(error: unknown): boolean {
  return !isLogin(error) && denied.has(factsOf(error).errno)
}

/** Returns whether the server refused the statement because it is, or was started, read-only. */
export function wasReadOnly(error: unknown): boolean {
  return readOnly.has(factsOf(error).errno)
}

/** Converts errors of the driver and the server to WireErrors. Returns other errors unchanged. */
export function wireErrorOf(error: unknown, options: { readonly reads: boolean; readonly showMessage: boolean }): unknown {
  if (error instanceof WireError) return error
  const facts = factsOf(error)
  const { errno, sqlState, message } = facts
  // The driver makes no row of it, although rows are lists here.
  if (/^The field name \(.{1,100}\) can't be the same as an object's private property/.test(message))
    return new WireError('SQL_ERROR', 'A result cannot have a column named "__proto__"; select it under another name', { cause: error })
  const kind = constraintKinds.get(errno)
  const details: ErrorDetails = {
    ...(sqlState === '' ? {} : { sqlState }),
    ...(errno === 0 ? {} : { errno }),
    ...(kind && { kind, ...constraintOf(message) }),
  }
  const made = (code: WireErrorCode, generic: string, retryable?: boolean): WireError =>
    new WireError(code, options.showMessage ? message || generic : generic, {
      ...(Object.keys(details).length > 0 ? { details } : {}),
      ...(retryable === undefined ? {} : { retryable }),
      cause: error,
    })
  if (kind !== undefined || sqlState.startsWith('23')) return made('CONSTRAINT_VIOLATION', 'The statement violates a constraint')
  if (conflicts.has(errno) || sqlState === '40001') return made('TX_CONFLICT', 'The transaction conflicts with another one')
  if (readOnly.has(errno) || sqlState === '25006') return made('READ_ONLY', 'The statement writes, and this connection is read-only')
  if (interrupted.has(errno)) return made('QUERY_TIMEOUT', 'The statement was interrupted', options.reads)
  // During login these errors concern the database user of the proxy.
  if (logins.has(errno) && isLogin(error))
    return new WireError('DB_AUTH_FAILED', 'The database refused the login of the proxy', { cause: error })
  if (denied.has(errno) || errno === 1045)
    return made(options.reads ? 'READ_ONLY' : 'STATEMENT_NOT_ALLOWED', 'The database user lacks the privilege for this statement')
  if (isUnavailable(error)) return new WireError('DB_UNAVAILABLE', 'The database cannot be reached', { cause: error })
  if (facts.code.startsWith('PROTOCOL_') || facts.code === 'HANDSHAKE_NO_SSL_SUPPORT')
    return new WireError('DB_PROTOCOL', 'The database sent an unexpected response', { cause: error })
  if (errno > 0 || sqlState !== '') return made('SQL_ERROR', 'The database refused the statement')
  return error
}

/** Returns the driver's error for a connection closed by the server. */
export function connectionLost(): Error {
  return Object.assign(new Error('the database closed the connection'), { code: 'PROTOCOL_CONNECTION_LOST' })
}

/** Wraps errors that occur before a connection is ready. */
export class LoginError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

function isLogin(error: unknown): boolean {
  return error instanceof LoginError
}

function factsOf(error: unknown): Facts {
  const source = error instanceof LoginError ? error.cause : error
  const { errno, code, sqlState, sqlMessage, message } = (typeof source === 'object' && source !== null ? source : {}) as Record<
    string,
    unknown
  >
  return {
    // System errors have negative numbers.
    errno: typeof errno === 'number' && errno > 0 ? errno : 0,
    code: typeof code === 'string' ? code : '',
    sqlState: typeof sqlState === 'string' ? sqlState : '',
    message: typeof sqlMessage === 'string' ? sqlMessage : typeof message === 'string' ? message : '',
  }
}

/** Extracts the name of the constraint, which MySQL and MariaDB report only in the message. */
function constraintOf(message: string): { readonly constraint?: string } {
  const found =
    /for key '([^']+)'/.exec(message) ?? /CONSTRAINT [`']([^`']+)[`']/i.exec(message) ?? /Column '([^']+)'|Field '([^']+)'/.exec(message)
  const constraint = found?.[1] ?? found?.[2]
  return constraint === undefined ? {} : { constraint }
}
