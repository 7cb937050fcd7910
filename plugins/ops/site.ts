import type { IncomingHttpHeaders } from 'node:http'
import { isOwnOrigin } from 'zin'

/** Properties of a request that {@link crossSiteProblem} checks. */
export interface SiteRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Whether it has a credential that a browser does not add by itself, such as a signature. Default false. */
  readonly hasOwnCredential?: boolean
}

/**
 * Protects against forged requests from web pages of other sites (CSRF). Browsers send `Origin` or `Sec-Fetch-Site` with every request of
 * another site that changes something, and a form always sends a `Content-Type`; other clients need neither. Returns why a request is
 * refused, or `undefined`.
 *
 * @example
 * const problem = crossSiteProblem({ method: 'POST', headers: { host: 'app.test', origin: 'https://evil.test' } })
 * // 'The request comes from a page of another origin'
 */
export function crossSiteProblem({ hasOwnCredential = false, headers, method }: SiteRequest): string | undefined {
  const { host, origin, 'content-type': type, 'sec-fetch-site': site, 'x-requested-with': requestedWith } = headers
  if (origin !== undefined && !isOwnOrigin(origin, host)) return 'The request comes from a page of another origin'
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'The request comes from a page of another site'
  // A form cannot set either of them.
  if (hasOwnCredential || requestedWith !== undefined) return undefined
  const mayBeForm = method === 'POST' && type !== undefined && !/^application\/json\s*(;|$)/i.test(type)
  return mayBeForm
    ? 'An HTML form of another site can send this POST: send Content-Type: application/json, or the header X-Requested-With'
    : undefined
}
