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
  /** From the first name look-up to the last byte, over all redirects, in ms. Default 10000. */
  readonly timeoutMs?: number
  /** Redirects that are followed, each checked like a first request. A further redirect is returned as the response. Default 0. */
  readonly maxRedirects?: number
  readonly signal?: AbortSignal
}

/** What a request is made with. */
export interface EgressParts {
  /** Default: the system's. */
  readonly resolver?: Resolver
  /** Certificates to trust instead of the well-known ones, PEM. */
  readonly ca?: string
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Headers that may follow to another origin. */
const harmless = new Set(['accept', 'accept-language', 'content-type', 'if-none-match', 'user-agent'])

/**
 * Requests an untrusted URL: only allowed schemes, hosts, ports and addresses; every address of the host name is checked, and
 * the connection uses a checked one; size and time are bounded. Responses of every status are returned.
 *
 * @throws ZinError EGRESS_BLOCKED 400, EGRESS_TOO_LARGE 502, EGRESS_TIMEOUT 504, EGRESS_FAILED 502; the signal's reason when it is aborted.
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
    const answer = await send({ url, addresses, method, headers, body, maxBytes, signal, ca: parts.ca })
    const { location } = answer.headers
    if (left <= 0 || location === undefined || !redirects.has(answer.status)) return answer
    const next = nextUrl(location, url, options)
    if ((answer.status === 303 && method !== 'HEAD') || (answer.status <= 302 && method === 'POST')) {
      method = 'GET'
      body = undefined
    }
    if (next.origin !== url.origin) headers = onlyHarmless(headers)
    url = next
  }
}

function nextUrl(location: string, from: URL, rules: EgressRules): URL {
  if (!URL.canParse(location, from)) throw egressErrors.EGRESS_BLOCKED(`where ${from.origin} redirects to`, 'it is not a URL')
  const next = checkEgressUrl(new URL(location, from).href, rules)
  if (from.protocol === 'https:' && next.protocol !== 'https:') {
    throw egressErrors.EGRESS_BLOCKED(next.origin, `${from.origin} redirects from https: to a URL that is not https:`)
  }
  return next
}

function onlyHarmless(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmless.has(name.toLowerCase())))
}

/** A DNS lookup cannot be cancelled, so it is only abandoned. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
