import type { ErrorBody, ErrorDetails, StatementResult } from '../wire.js'

/** Codes of errors that are found on this side; every other code is that of the proxy. */
export type LocalErrorCode =
  | 'PROXY_UNREACHABLE'
  | 'DEADLINE_EXCEEDED'
  | 'INVALID_RESPONSE'
  | 'RESPONSE_TOO_LARGE'
  | 'TX_NOT_SUPPORTED'
  | 'TX_ENDED'

export interface ProxyErrorFacts {
  /** Of the response; 0 without one. */
  readonly status?: number
  readonly retryable?: boolean
  readonly requestId?: string | undefined
  readonly details?: ErrorDetails | undefined
  readonly results?: readonly StatementResult[] | undefined
  /** Of the header `Retry-After`. */
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/**
 * A call that failed. `code` is one of the proxy's (see the README of sql-wire), or: `PROXY_UNREACHABLE` (no connection, or it
 * broke), `DEADLINE_EXCEEDED` (no response within `timeoutMs`), `INVALID_RESPONSE` (not the response of a proxy),
 * `RESPONSE_TOO_LARGE` (more than `maxResponseBytes`), `TX_NOT_SUPPORTED`, `TX_ENDED` (a statement after the end of a transaction). It holds no secret, no header and no SQL of the caller.
 */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly code: string
  readonly status: number
  /** Whether the same call may succeed later. A write may have taken effect: see `outcomeUnknown`. */
  readonly retryable: boolean
  readonly requestId: string | undefined
  readonly details: ErrorDetails | undefined
  /** What a batch of mode `sequence` did before its error, as it came over the wire. */
  readonly results: readonly StatementResult[] | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: string, message: string, facts: ProxyErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = code
    this.status = facts.status ?? 0
    this.retryable = facts.retryable ?? false
    this.requestId = facts.requestId
    this.details = facts.details
    this.results = facts.results
    this.retryAfterMs = facts.retryAfterMs
  }

  /** Whether the statement may have run although the call failed. */
  get outcomeUnknown(): boolean {
    return unknownOutcomes.has(this.code) || this.details?.outcome === 'unknown'
  }
}

const unknownOutcomes: ReadonlySet<string> = new Set([
  'PROXY_UNREACHABLE',
  'DEADLINE_EXCEEDED',
  'INVALID_RESPONSE',
  'RESPONSE_TOO_LARGE',
  'DB_UNAVAILABLE',
  'INTERNAL',
] satisfies (LocalErrorCode | 'DB_UNAVAILABLE' | 'INTERNAL')[])

/** An error of this side. */
export function localError(code: LocalErrorCode, message: string, facts?: ProxyErrorFacts): ProxyError {
  return new ProxyError(code, message, facts)
}

/** The error of a response whose status is no success; `body` is its JSON value, if it had one. */
export function responseError(response: Response, body: unknown): ProxyError {
  const { status } = response
  const retryAfterMs = retryAfterOf(response.headers.get('retry-after'))
  const requestId = response.headers.get('x-request-id') ?? undefined
  if (!isErrorBody(body))
    return localError('INVALID_RESPONSE', `Status ${status} without an error of a proxy; does the URL lead to one?`, {
      status,
      // A gateway in between.
      retryable: status === 502 || status === 503 || status === 504,
      requestId,
      retryAfterMs,
    })
  return bodyError(body, { status, requestId, retryAfterMs })
}

/** The error of a body, also of the last line of a stream. */
export function bodyError(body: ErrorBody, facts: ProxyErrorFacts = {}): ProxyError {
  const failedIndex = body.failedIndex === undefined ? {} : { failedIndex: body.failedIndex }
  const details = body.details === undefined && body.failedIndex === undefined ? undefined : { ...body.details, ...failedIndex }
  return new ProxyError(body.code, body.message, {
    ...facts,
    status: facts.status ?? body.status,
    retryable: body.retryable === true,
    requestId: body.requestId ?? facts.requestId,
    details,
    results: body.results,
  })
}

export function isErrorBody(value: unknown): value is ErrorBody {
  if (typeof value !== 'object' || value === null) return false
  const { code, message } = value as Readonly<Record<string, unknown>>
  return typeof code === 'string' && typeof message === 'string'
}

function retryAfterOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,5}$/.test(header) ? Number(header) * 1000 : undefined
}
