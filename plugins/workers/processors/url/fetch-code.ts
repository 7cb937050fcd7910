import { setTimeout as delay } from 'node:timers/promises'
import { type EgressOptions, type EgressResponse, egressFetch, messageOf, ZinError } from 'zin'
import { processorErrors } from '../errors.js'
import type { CodeSource } from './source.js'

export interface FetchLimits {
  /** Timeout of one attempt, in ms. */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Maximum number of attempts, including the first. */
  readonly attempts: number
  /** Wait before the second attempt, in ms; doubled before each further one. */
  readonly backoffMs: number
}

/** Sends a request through the egress guard. */
export type Egress = (url: string, options: EgressOptions) => Promise<EgressResponse>

export const guardedEgress: Egress = (url, options) => egressFetch(url, options)

export interface FetchInput {
  readonly source: CodeSource
  readonly allowHosts: readonly string[]
  /** ETag of the cached code. */
  readonly etag: string | null
  readonly limits: FetchLimits
  readonly egress: Egress
  readonly signal: AbortSignal
}

/** Returns the response with status 200, or 304 if there is an ETag. Retries only after network errors, 429 and 5xx. */
export async function fetchCode(input: FetchInput): Promise<EgressResponse> {
  const { limits, signal, source } = input
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOnce(input)
    if (typeof outcome !== 'string') return outcome
    if (attempt >= limits.attempts) throw processorErrors.PROCESSOR_FETCH_FAILED(source.shown, `${outcome}; attempts: ${attempt}`)
    await delay(limits.backoffMs * 2 ** (attempt - 1), undefined, { signal }).catch(() => {
      throw processorErrors.PROCESSOR_FETCH_FAILED(source.shown, messageOf(signal.reason))
    })
  }
}

/** Returns the response, or the reason why another attempt may help. */
async function attemptOnce({ source, allowHosts, etag, limits, egress, signal }: FetchInput): Promise<EgressResponse | string> {
  let response: EgressResponse
  try {
    response = await egress(source.url, {
      allowHosts,
      schemes: ['https:'],
      maxBytes: limits.maxBytes,
      timeoutMs: limits.timeoutMs,
      headers: { accept: 'text/javascript, */*', ...(etag === null ? {} : { 'if-none-match': etag }) },
      signal,
    })
  } catch (error) {
    const code = error instanceof ZinError ? error.code : ''
    if (code === 'EGRESS_TOO_LARGE') throw processorErrors.PROCESSOR_FETCH_SIZE_EXCEEDED(source.shown, limits.maxBytes)
    if (code !== 'EGRESS_FAILED' && code !== 'EGRESS_TIMEOUT') throw processorErrors.PROCESSOR_FETCH_FAILED(source.shown, messageOf(error))
    return messageOf(error)
  }
  const { status, headers } = response
  if (status === 429 || status >= 500) return `its host responded with ${status}`
  if (status !== 304 && status >= 300 && status < 400) {
    throw processorErrors.PROCESSOR_FETCH_FAILED(
      source.shown,
      `its host responded with ${status}; redirects are not followed, so use the final URL`,
    )
  }
  if (status !== 200 && (status !== 304 || etag === null)) {
    throw processorErrors.PROCESSOR_FETCH_FAILED(source.shown, `its host responded with ${status}`)
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw processorErrors.PROCESSOR_FETCH_FAILED(source.shown, `the response is compressed (${encoding}), although that was not requested`)
  return response
}
