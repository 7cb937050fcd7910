import type { IncomingHttpHeaders } from 'node:http'
import type { ZinError } from 'zin'
import { opsErrors } from './errors.js'

export interface LocalRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Whether it has signature headers. */
  readonly signed: boolean
}

const readers = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Protects an open app from web pages in a local browser. Accepted are only the app's own names (against DNS rebinding), pages of
 * its own origin, and for changes only requests that a page of another origin could not send without a CORS preflight. Returns
 * the error, or `undefined`.
 */
export function localProblem(
  { method, headers, signed }: LocalRequest,
  acceptsHost: (host: string | undefined) => boolean,
): ZinError | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers
  if (!acceptsHost(host)) return opsErrors.MISDIRECTED()
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    return opsErrors.FORBIDDEN('The request comes from a page of another origin')
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return opsErrors.FORBIDDEN('The request comes from a page of another site')
  if (readers.has(method)) return undefined
  const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
  const needsPreflight = isJson || signed || headers.authorization !== undefined || headers['x-requested-with'] !== undefined
  return needsPreflight
    ? undefined
    : opsErrors.FORBIDDEN('A request that changes something requires Content-Type: application/json or the header X-Requested-With')
}

/** Headers added by proxies and networks in front of an app, besides `x-forwarded-*`. */
const forwarding = [
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'cdn-loop',
]

/** Whether the request was forwarded, so that its sender may be on another machine. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return forwarding.some((name) => headers[name] !== undefined) || Object.keys(headers).some((name) => name.startsWith('x-forwarded'))
}
