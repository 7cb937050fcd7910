import { signedFetch } from 'zin/signer'
import type { ProxyClientOptions } from './contract.js'
import { type Deadline, deadlineOf } from './deadline.js'
import { headerFault } from './headers.js'
import { localError, ProxyError, responseError } from './proxy-error.js'
import { readBody } from './read-body.js'
import { retryBudget } from './retry-budget.js'

export interface Call {
  /** Last segment of the path, such as `query`. */
  readonly path: string
  /** Identical in each attempt: the proxy compares the bodies of requests with the same idempotency key. */
  readonly body: unknown
  /** Whether it can be retried safely. */
  readonly repeatable: boolean
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** Sends the requests of a client. */
export interface Transport {
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Sends a request; resolves to the JSON object of the response. */
  send(call: Call): Promise<Readonly<Record<string, unknown>>>
  /** Opens an NDJSON response; the caller controls the deadline. */
  open(call: Omit<Call, 'signal' | 'timeoutMs'>, deadline: Deadline): Promise<Response>
}

type Send = (path: string, body: string, accept: string, signal: AbortSignal) => Promise<Response>

/** Creates a transport. Throws a TypeError for invalid options. */
export function createTransport(options: ProxyClientOptions): Transport {
  const { timeoutMs = 15_000, retries = 2, maxResponseBytes = 8 * 1024 * 1024 } = options
  if (!(timeoutMs >= 1)) throw new TypeError('timeoutMs must be at least 1 ms')
  if (!Number.isInteger(retries) || retries < 0 || retries > 5) throw new TypeError('retries must be 0 to 5')
  const request = requestsOf(options)
  const budget = retryBudget()

  const attempts = async (call: Pick<Call, 'path' | 'body' | 'repeatable'>, accept: string, deadline: Deadline): Promise<Response> => {
    const body = JSON.stringify(call.body)
    for (let retry = 0; ; retry++) {
      try {
        const response = await request(call.path, body, accept, deadline.signal)
        if (response.status !== 200) throw responseError(response, await jsonOf(response, maxResponseBytes))
        budget.succeeded()
        return response
      } catch (error) {
        if (deadline.signal.aborted) throw deadline.signal.reason
        const failed = error instanceof ProxyError ? error : unreachable(options.url, error)
        const waitMs = Math.max(failed.retryAfterMs ?? 0, 50 * 2 ** retry * (0.5 + Math.random()))
        const again = call.repeatable && failed.retryable && retry < retries && waitMs < deadline.left() && budget.take()
        if (!again) throw failed
        await deadline.sleep(waitMs)
      }
    }
  }

  return {
    timeoutMs,
    maxResponseBytes,
    async send(call) {
      const deadline = deadlineOf(call.timeoutMs ?? timeoutMs, call.signal)
      try {
        const body = await jsonOf(await attempts(call, 'application/json', deadline), maxResponseBytes)
        if (typeof body === 'object' && body !== null && 'ok' in body && body.ok === true) return body as Readonly<Record<string, unknown>>
        throw localError('INVALID_RESPONSE', 'The response is not from a proxy; does the URL point to one?', { status: 200 })
      } catch (error) {
        const reason = deadline.reasonOr(error)
        throw reason instanceof ProxyError || deadline.signal.aborted ? reason : unreachable(options.url, reason)
      } finally {
        deadline.done()
      }
    },
    open: (call, deadline) => attempts(call, 'application/x-ndjson', deadline),
  }
}

/** Returns a function that signs and sends one request; redirects are not followed. */
function requestsOf(options: ProxyClientOptions): Send {
  const { keyId, secret, headers = {}, headerPrefix = 'x-sig-', proxy } = options
  const url = baseOf(options.url)
  const faults = Object.entries(headers).flatMap(([name, value]) => headerFault(name, value, headerPrefix) ?? [])
  if (faults.length > 0) throw new TypeError(`headers: ${faults.join('; ')}`)
  if ((keyId ?? '') === '' ? (secret ?? '') !== '' : (secret ?? '') === '') throw new TypeError('pass both keyId and secret, or neither')
  // Called as a method of the global object: workerd refuses any other `this`.
  const plain: typeof fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const send = keyId && secret ? signedFetch({ keyId, secret, fetch: plain, headerPrefix }) : plain
  return (path, body, accept, signal) =>
    send(new URL(`svc/${proxy}/${path}`, url), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept },
      body,
      signal,
      redirect: 'manual',
    })
}

function baseOf(given: string | URL): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== ''
  )
    throw new TypeError('url must be an http or https URL without user, password, query or fragment')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

async function jsonOf(response: Response, maxBytes: number): Promise<unknown> {
  const text = await readBody(response, maxBytes)
  try {
    return JSON.parse(text)
  } catch {
    if (response.status !== 200) return undefined
    throw localError('INVALID_RESPONSE', 'The response is not valid JSON; does the URL point to a proxy?', { status: 200 })
  }
}

/** Returns the error for a request without a response: the connection failed or broke. */
function unreachable(url: string | URL, error: unknown): ProxyError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : ''
  return localError('PROXY_UNREACHABLE', `The proxy ${new URL(url).origin} cannot be reached or closed the connection${code}`, {
    retryable: true,
    cause: error,
  })
}
