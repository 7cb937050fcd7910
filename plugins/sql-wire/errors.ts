import type { ErrorBody, ErrorDetails } from './wire.js'

interface WireErrorKind {
  readonly status: number
  /** Field `error` of the body. */
  readonly title: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
}

const kind = (status: number, title: string, retryable = false): WireErrorKind => ({ status, title, retryable })

/** All error codes of both proxies. */
export const wireErrors = {
  INVALID_JSON: kind(400, 'Invalid JSON'),
  VALIDATION_ERROR: kind(400, 'Invalid request'),
  INVALID_PARAM: kind(400, 'Invalid parameter'),
  SQL_ERROR: kind(400, 'SQL error'),
  MULTIPLE_STATEMENTS: kind(400, 'More than one statement'),
  UNAUTHORIZED: kind(401, 'Unauthorized'),
  FORBIDDEN_SCOPE: kind(403, 'Scope missing'),
  SQL_MODE_DISABLED: kind(403, 'SQL mode is off'),
  READ_ONLY: kind(403, 'Read only'),
  STATEMENT_NOT_ALLOWED: kind(403, 'Statement not allowed'),
  UNKNOWN_STATEMENT: kind(404, 'Unknown statement'),
  NOT_FOUND: kind(404, 'Not found'),
  TX_UNKNOWN: kind(404, 'Unknown transaction'),
  METHOD_NOT_ALLOWED: kind(405, 'Method not allowed'),
  CONSTRAINT_VIOLATION: kind(409, 'Constraint violation'),
  IDEMPOTENCY_MISMATCH: kind(409, 'Idempotency key was used for another request'),
  IDEMPOTENCY_IN_PROGRESS: kind(409, 'A request with this idempotency key is running', true),
  TX_CONFLICT: kind(409, 'Transaction conflict', true),
  TX_EXPIRED: kind(410, 'Transaction expired', true),
  PAYLOAD_TOO_LARGE: kind(413, 'Payload too large'),
  SQL_TOO_LARGE: kind(413, 'SQL too large'),
  TOO_MANY_PARAMS: kind(413, 'Too many parameters'),
  UNSUPPORTED_MEDIA_TYPE: kind(415, 'Unsupported media type'),
  MISDIRECTED: kind(421, 'Misdirected request'),
  RESULT_TOO_LARGE: kind(422, 'Result too large'),
  DUPLICATE_COLUMN: kind(422, 'Duplicate column'),
  DDL_IN_TRANSACTION: kind(422, 'DDL in a transaction'),
  TOO_MANY_CHANGES: kind(422, 'Too many changes'),
  RATE_LIMITED: kind(429, 'Rate limited', true),
  INTERNAL: kind(500, 'Internal error'),
  DB_AUTH_FAILED: kind(502, 'Database login failed'),
  DB_PROTOCOL: kind(502, 'Database protocol error'),
  DB_UNAVAILABLE: kind(503, 'Database unavailable', true),
  POOL_EXHAUSTED: kind(503, 'No free connection', true),
  SHUTTING_DOWN: kind(503, 'Shutting down', true),
  AUTH_STORE_UNAVAILABLE: kind(503, 'Nonce store unavailable', true),
  CONFIG_ERROR: kind(503, 'Configuration error', true),
  QUERY_TIMEOUT: kind(504, 'Query timeout'),
} as const satisfies Record<string, WireErrorKind>

export type WireErrorCode = keyof typeof wireErrors

export interface WireErrorOptions {
  readonly details?: ErrorDetails
  /** Overrides the default of the code: a timed-out read is retryable, a write is not. */
  readonly retryable?: boolean
  /** Value of the header `Retry-After`, in seconds. Default: 1 for 503 and 429. */
  readonly retryAfterS?: number
  /** Additional fields of the body, such as `committed` and `results` of a batch. */
  readonly body?: Pick<ErrorBody, 'failedIndex' | 'committed' | 'results'>
  readonly cause?: unknown
}

/** An error in the wire format. */
export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: WireErrorCode
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly retryAfterS: number | undefined
  readonly details: ErrorDetails | undefined
  readonly body: WireErrorOptions['body']

  constructor(code: WireErrorCode, message: string, options: WireErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const { status, title, retryable } = wireErrors[code]
    this.code = code
    this.status = status
    this.title = title
    this.retryable = options.retryable ?? retryable
    this.retryAfterS = options.retryAfterS ?? (status === 503 || status === 429 ? 1 : undefined)
    this.details = options.details
    this.body = options.body
  }

  /** Returns a copy of the error with more details, such as the index of the failed statement in a batch. */
  with(options: Pick<WireErrorOptions, 'details' | 'body'>): WireError {
    const details = this.details === undefined && options.details === undefined ? {} : { details: { ...this.details, ...options.details } }
    const body = this.body === undefined && options.body === undefined ? {} : { body: { ...this.body, ...options.body } }
    const retryAfterS = this.retryAfterS === undefined ? {} : { retryAfterS: this.retryAfterS }
    return new WireError(this.code, this.message, { retryable: this.retryable, ...retryAfterS, ...details, ...body, cause: this.cause })
  }
}

/** Returns the 401 for every signature fault; it does not reveal the cause. */
export function unauthorized(): WireError {
  return new WireError('UNAUTHORIZED', 'Unauthorized')
}

/** Returns the body of an error. All 401 responses have the same body, without a request id. */
export function errorBody(error: WireError, requestId?: string): ErrorBody {
  const { code, message, title, status, retryable, details, body } = error
  return {
    ok: false,
    code,
    message,
    error: title,
    status,
    retryable,
    ...(requestId === undefined || status === 401 ? {} : { requestId }),
    ...(details === undefined ? {} : { details }),
    ...body,
  }
}

/** Returns the additional headers of an error response. */
export function errorHeaders(error: WireError): Readonly<Record<string, string>> {
  return error.retryAfterS === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(error.retryAfterS))) }
}
