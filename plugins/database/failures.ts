const uniqueCodes = new Set(['SQLITE_CONSTRAINT_PRIMARYKEY', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_ROWID', 'ER_DUP_ENTRY'])

const unavailableCodes = new Set([
  'DATABASE_UNAVAILABLE',
  'DATABASE_BUSY',
  'DATABASE_OWN_TRANSACTION',
  'DATABASE_NOT_STARTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ER_CON_COUNT_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_NORMAL_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_IOERR',
  'SQLITE_FULL',
])

/** A deadlock (1213), and on MariaDB a row changed by another transaction (1020). */
const conflictNumbers = new Set([1213, 1020])

/**
 * Error numbers without a name in the driver on some servers: too many connections, shutdown, killed, lock wait timeout; of MySQL a row
 * locked by another transaction (NOWAIT), offline mode, killed, and disconnected because it was idle.
 */
const unavailableNumbers = new Set([1040, 1053, 1077, 1203, 1927, 1205, 3572, 3032, 3169, 4031, ...conflictNumbers])

/** Whether an error, or one of its causes, is a violation of a unique key. */
export function isUniqueViolation(error: unknown): boolean {
  return some(
    error,
    ({ code, errno, kind }) => uniqueCodes.has(code) || errno === 1062 || (code === 'CONSTRAINT_VIOLATION' && kind === 'unique'),
  )
}

/** Whether an error, or one of its causes, means that the server or the file is unavailable. */
export function isUnavailable(error: unknown): boolean {
  return some(
    error,
    ({ code, errno, message }) =>
      unavailableCodes.has(code) ||
      code === 'TX_CONFLICT' ||
      code.startsWith('SQLITE_IOERR') ||
      unavailableNumbers.has(errno) ||
      message === 'Pool is closed.',
  )
}

/** Whether an error, or one of its causes, means that the server rolled back a transaction in favor of another one. */
export function isConflict(error: unknown): boolean {
  // TX_CONFLICT of a proxy contains the error number of its server, if the server has numbers.
  return some(error, ({ code, errno }) => conflictNumbers.has(errno) || (code === 'TX_CONFLICT' && errno === 0))
}

interface Facts {
  readonly code: string
  readonly errno: number
  /** Kind of a violated constraint, as reported by the proxies. */
  readonly kind: string
  readonly message: string
}

function some(error: unknown, test: (facts: Facts) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const { code, errno: own, message, cause, errors, details } = error as Record<string, unknown>
  // Errors of the proxies contain these in their details.
  const { errno = own, kind } = (typeof details === 'object' && details !== null ? details : {}) as Record<string, unknown>
  const facts = {
    code: typeof code === 'string' ? code : '',
    errno: typeof errno === 'number' ? errno : 0,
    kind: typeof kind === 'string' ? kind : '',
    message: typeof message === 'string' ? message : '',
  }
  if (test(facts)) return true
  if (Array.isArray(errors) && errors.some((one) => some(one, test, depth + 1))) return true
  return some(cause, test, depth + 1)
}
