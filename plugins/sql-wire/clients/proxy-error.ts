import type { ErrorBody, ErrorDetails, StatementResult } from '../wire.js'

/** Codes of errors raised by the client; every other code comes from the proxy. */
export type LocalErrorCode =
  | 'PROXY_UNREACHABLE'
  | 'DEADLINE_EXCEEDED'
  | 'INVALID_RESPONSE'
  | 'RESPONSE_TOO_LARGE'
  | 'TX_NOT_SUPPORTED'
  | 'TX_ENDED'

export interface ProxyErrorFacts {
  /** Status of the response; 0 without one. */
  readonly status?: number
  readonly retryable?: boolean
  readonly requestId?: string | undefined
  readonly details?: ErrorDetails | undefined
  readonly results?: readonly StatementResult[] | undefined
  /** From the header `Retry-After`. */
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/**
 * Error of a failed call. `code` is a code of the proxy (see the README of sql-wire), or: `PROXY_UNREACHABLE` (the connection failed or
 * broke), `DEADLINE_EXCEEDED` (no response within `timeoutMs`), `INVALID_RESPONSE` (not a response of a proxy), `RESPONSE_TOO_LARGE` (more
 * than `maxResponseBytes`), `TX_NOT_SUPPORTED`, `TX_ENDED` (a statement after the end of a transaction). It contains no secret, no headers
 * and no SQL of the caller.
 */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly code: string
  readonly status: number
  /** Whether the same call may succeed later. A write may have taken effect: see `outcomeUnknown`. */
  readonly retryable: boolean
  readonly requestId: string | undefined
  readonly details: ErrorDetails | undefined
  /** Results of a batch in mode `sequence` before its error, in wire format. */
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

  /** Whether the statement may have taken effect although the call failed. */
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

/** Creates an error raised by the client. */
export function localError(code: LocalErrorCode, message: string, facts?: ProxyErrorFacts): ProxyError {
  return new ProxyError(code, message, facts)
}

/** Returns the error for an unsuccessful response; `body` is its parsed JSON, if any. */
export function responseError(response: Response, body: unknown): ProxyError {
  const { status } = response
  const retryAfterMs = retryAfterOf(response.headers.get('retry-after'))
  const requestId = response.headers.get('x-request-id') ?? undefined
  if (!isErrorBody(body))
    return localError('INVALID_RESPONSE', `The response has status ${status} but no proxy error body; does the URL point to a proxy?`, {
      status,
      // Probably sent by a gateway in between.
      retryable: status === 502 || status === 503 || status === 504,
      requestId,
      retryAfterMs,
    })
  return bodyError(body, { status, requestId, retryAfterMs })
}

/** Returns the error for an error body, also for the last line of a stream. */
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
