import { egressErrors } from './errors.js'
import { type Resolver, resolveChecked, systemResolver } from './resolve.js'
import { checkEgressUrl, type EgressRules } from './rules.js'
import { type EgressResponse, send } from './send.js'

export interface EgressOptions extends EgressRules {
  /** Default GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Maximum size of the response body in bytes. Default 1 MiB. */
  readonly maxBytes?: number
  /** Deadline in ms from the first DNS lookup to the last byte, including all redirects. Default 10000. */
  readonly timeoutMs?: number
  /** Maximum number of redirects to follow. Each is checked like the first request; a further one is returned as the response. Default 0. */
  readonly maxRedirects?: number
  readonly signal?: AbortSignal
}

/** Replaceable dependencies of a request. */
export interface EgressParts {
  /** Default: the system resolver. */
  readonly resolver?: Resolver
  /** CA certificates in PEM to trust instead of the well-known ones. */
  readonly ca?: string
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Headers that are kept when a redirect leads to another origin. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'if-none-match', 'user-agent'])

/**
 * Sends a request to an untrusted URL. Only allowed schemes, hosts, ports and addresses are used: every address of the host name is checked,
 * and the connection uses a checked one. Size and time are bounded. Responses are returned whatever their status.
 *
 * @throws ZinError EGRESS_BLOCKED 400, EGRESS_TOO_LARGE 502, EGRESS_TIMEOUT 504, EGRESS_FAILED 502; or the signal's reason if it is aborted.
 * @example
 * const response = await egressFetch('https://hooks.example.com/x', { method: 'POST', body: '{}', timeoutMs: 5000 })
 */
export async function egressFetch(url: string, options: EgressOptions = {}, parts: EgressParts = {}): Promise<EgressResponse> {
  const { timeoutMs = 10_000, signal } = options
  const stop = new AbortController()
  const first = checkEgressUrl(url, options)
  const timer = setTimeout(() => stop.abort(egressErrors.EGRESS_TIMEOUT(first.origin, timeoutMs)), timeoutMs)
  const onAbort = (): void => stop.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await follow(first, options, parts, stop.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

async function follow(first: URL, options: EgressOptions, parts: EgressParts, signal: AbortSignal): Promise<EgressResponse> {
  const { maxBytes = 1_048_576, maxRedirects = 0 } = options
  let url = first
  let { method = 'GET', headers = {}, body } = options
  for (let left = maxRedirects; ; left--) {
    const addresses = await unlessAborted(resolveChecked(url, options, parts.resolver ?? systemResolver), signal)
    const response = await send({ url, addresses, method, headers, body, maxBytes, signal, ca: parts.ca })
    const { location } = response.headers
    if (left <= 0 || location === undefined || !redirects.has(response.status)) return response
    const next = nextUrl(location, url, options)
    if ((response.status === 303 && method !== 'HEAD') || (response.status <= 302 && method === 'POST')) {
      method = 'GET'
      body = undefined
      headers = withoutBodyHeaders(headers)
    }
    if (next.origin !== url.origin) headers = onlyHarmless(headers)
    url = next
  }
}

function nextUrl(location: string, from: URL, rules: EgressRules): URL {
  if (!URL.canParse(location, from)) throw egressErrors.EGRESS_BLOCKED(`the redirect target of ${from.origin}`, 'it is not a URL')
  const next = checkEgressUrl(new URL(location, from).href, rules)
  if (from.protocol === 'https:' && next.protocol !== 'https:') {
    throw egressErrors.EGRESS_BLOCKED(next.origin, `${from.origin} redirects from https: to a URL that is not https:`)
  }
  return next
}

/** Removes the headers that describe a body, such as a `Content-Length` that a request without one would never fulfil. */
function withoutBodyHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^(?:content-|transfer-encoding$)/i.test(name)))
}

function onlyHarmless(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name.toLowerCase())))
}

/** Rejects on abort. A DNS lookup cannot be cancelled, so it is only abandoned. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
