import type { IncomingHttpHeaders } from 'node:http'
import type { ZinError } from 'zin'
import { opsErrors } from './errors.js'

export interface LocalRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Whether it carries signature headers. */
  readonly signed: boolean
}

const readers = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * What keeps a web page from using the machine it is shown on: the app serves its own names only (a name that was
 * pointed at this machine is refused), to pages of its own origin only, and changes nothing for a request that a page of
 * another origin could send without asking first. Gives the error, or `undefined`.
 */
export function localProblem(
  { method, headers, signed }: LocalRequest,
  acceptsHost: (host: string | undefined) => boolean,
): ZinError | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers
  if (!acceptsHost(host)) return opsErrors.MISDIRECTED()
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`)
    return opsErrors.FORBIDDEN('A page of another origin asked for this')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return opsErrors.FORBIDDEN('A page of another site asked for this')
  if (readers.has(method)) return undefined
  const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
  const asksFirst = isJson || signed || headers.authorization !== undefined || headers['x-requested-with'] !== undefined
  return asksFirst
    ? undefined
    : opsErrors.FORBIDDEN('A request that changes something needs Content-Type: application/json or the header X-Requested-With')
}

/** What proxies and networks in front of an app add, besides `x-forwarded-*`. */
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

/** Whether somebody passed the request on: then its sender need not be on this machine. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return forwarding.some((name) => headers[name] !== undefined) || Object.keys(headers).some((name) => name.startsWith('x-forwarded'))
}
