import type { IncomingHttpHeaders } from 'node:http'
import type { ZinError } from 'zin'
import { opsErrors } from './errors.js'
import { crossSiteProblem } from './site.js'

export interface LocalRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Whether it has signature headers. */
  readonly signed: boolean
}

/**
 * Protects an open app from web pages in a local browser: the `Host` must be one of the app's own names (against DNS rebinding), and the
 * request must not come from a page or a form of another site. Returns the error, or `undefined`.
 */
export function localProblem(
  { method, headers, signed }: LocalRequest,
  acceptsHost: (host: string | undefined) => boolean,
): ZinError | undefined {
  if (!acceptsHost(headers.host)) return opsErrors.MISDIRECTED()
  const problem = crossSiteProblem({ method, headers, hasOwnCredential: signed || headers.authorization !== undefined })
  return problem === undefined ? undefined : opsErrors.FORBIDDEN(problem)
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
