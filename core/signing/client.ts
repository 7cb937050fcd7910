import { canonicalRequest, KEY_ID_PATTERN, NONCE_PATTERN, signatureHeaderNames, TIMESTAMP_PATTERN } from './canonical.js'

export type SignedBody = string | Uint8Array | ArrayBuffer | undefined

export interface SignOptions {
  /** Any case. */
  readonly method: string
  /** Absolute, or a path with its query; only path and query are signed. */
  readonly url: string | URL
  /** The exact bytes that will be sent; text is signed as UTF-8. Nothing is the empty body. */
  readonly body?: SignedBody
  /** The device id, or the name of a caller that holds the shared secret. */
  readonly keyId: string
  /** Used as it is: its UTF-8 bytes are the HMAC key, and a `base64:` prefix is not decoded. */
  readonly secret: string
  /** ms since 1970. Default: now. */
  readonly timestamp?: number
  /** 16 to 128 of `A-Z a-z 0-9 _ -`. Default: a random UUID. */
  readonly nonce?: string
  /** Default `x-sig-`. */
  readonly headerPrefix?: string
}

/**
 * Header name → value: `<prefix>key-id`, `-timestamp`, `-nonce`, `-body-sha256` and `-signature`, and
 * `<prefix>device-id`, which equals the key id and is required by the device check.
 */
export type SignedHeaders = Readonly<Record<string, string>>

/**
 * Makes the headers of one signed request. Needs `crypto.subtle`: Node 20, workerd, or a browser page on https or localhost.
 * Throws a TypeError for an empty secret and for a key id, nonce or timestamp that no server would take.
 *
 * @example
 * const body = JSON.stringify({ to: 'ada@example.com' })
 * const headers = await createHeaders({ method: 'POST', url: 'https://api.example.com/v1/mails', body, keyId, secret })
 * await fetch('https://api.example.com/v1/mails', { method: 'POST', body, headers: { ...headers, authorization: `Bearer ${jwt}` } })
 */
export async function createHeaders(options: SignOptions): Promise<SignedHeaders> {
  const { method, body, keyId, secret, headerPrefix } = options
  const nonce = options.nonce ?? crypto.randomUUID()
  const timestamp = String(options.timestamp ?? Date.now())
  if (secret === '') throw new TypeError('secret is empty')
  if (!KEY_ID_PATTERN.test(keyId)) throw new TypeError('keyId must be 1 to 128 letters, digits or . _ : @ -')
  if (!NONCE_PATTERN.test(nonce)) throw new TypeError('nonce must be 16 to 128 letters, digits, _ or -')
  if (!TIMESTAMP_PATTERN.test(timestamp)) throw new TypeError('timestamp must be whole milliseconds since 1970')

  const { pathname, search } = resolve(options.url)
  const bodySha256 = hex(await subtle().digest('SHA-256', bytesOf(body)))
  const signature = await hmac(secret, canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 }))
  const names = signatureHeaderNames(headerPrefix)
  return {
    [names.keyId]: keyId,
    [names.timestamp]: timestamp,
    [names.nonce]: nonce,
    [names.bodySha256]: bodySha256,
    [names.signature]: signature,
    [names.deviceId]: keyId,
  }
}

export interface SignedFetchOptions {
  readonly keyId: string
  readonly secret: string
  /** The JWT, or a function that gives the present one. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>)
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch
  readonly headerPrefix?: string
  /** IANA zone for `<prefix>timezone`, for tokens with a `tz` claim. */
  readonly timezone?: string
  /** ms since 1970. Default: the machine's clock. */
  readonly now?: () => number
}

/** A clock that is off by less than this is left alone: the answer's `Date` is only exact to a second. */
const SKEW_MS = 5_000

/**
 * A fetch that signs each request and adds the bearer token. When a 401 answer's `Date` shows that this machine's clock is off,
 * it remembers the offset and sends the request once more with a new nonce. The `Date` is believed over https and from this
 * machine only; a page on another origin sees it when the server lists it in `Access-Control-Expose-Headers`.
 * The body is read into memory before it is sent. Redirects are handed back, not followed: a signature is good for one path.
 *
 * @example
 * const api = signedFetch({ keyId: deviceId, secret: deviceSecret, token: jwt })
 * const me = await (await api('https://api.example.com/api/me')).json()
 */
export function signedFetch(options: SignedFetchOptions): typeof globalThis.fetch {
  const send = options.fetch ?? globalThis.fetch
  const now = options.now ?? Date.now
  const names = signatureHeaderNames(options.headerPrefix)
  let offset = 0

  return async (input, init = {}) => {
    const prepared = await prepare(input, init)
    const attempt = async (): Promise<Response> => {
      const headers = new Headers(prepared.headers)
      const signed = await createHeaders({
        ...options,
        method: prepared.method,
        url: prepared.url,
        body: prepared.body,
        timestamp: Math.round(now() + offset),
      })
      for (const [name, value] of Object.entries(signed)) headers.set(name, value)
      if (options.timezone !== undefined) headers.set(names.timezone, options.timezone)
      const token = typeof options.token === 'function' ? await options.token() : options.token
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      const target = input instanceof Request ? input.clone() : input
      const body = prepared.body === undefined ? {} : { body: prepared.body }
      return send(target, { redirect: 'manual', ...init, method: prepared.method, headers, ...body })
    }

    const answer = await attempt()
    if (answer.status !== 401 || !isTrusted(prepared.url)) return answer
    const learned = offsetOf(answer.headers.get('date'), now())
    if (learned === undefined || Math.abs(learned - offset) <= SKEW_MS) return answer
    offset = learned
    await answer.body?.cancel()
    return attempt()
  }
}

interface Prepared {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: ArrayBuffer | undefined
}

/** Turns fetch's arguments into the bytes that go out, with the content type that fetch itself would have chosen. */
async function prepare(input: string | URL | Request, init: RequestInit): Promise<Prepared> {
  const request = input instanceof Request ? input : undefined
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const url = resolve(request?.url ?? (input as string | URL))
  const headers = new Headers(init.headers ?? request?.headers)
  const carrier = init.body != null ? new Response(init.body) : request?.clone()
  const bytes = await carrier?.arrayBuffer()
  const type = carrier?.headers.get('content-type')
  if (type && !headers.has('content-type') && init.body != null) headers.set('content-type', type)
  return { method, url, headers, body: bytes !== undefined && bytes.byteLength > 0 ? bytes : undefined }
}

function resolve(url: string | URL): URL {
  return new URL(url, globalThis.location?.href ?? 'http://localhost')
}

/** Whoever can forge `Date` could have the client sign for the future, so plain http is trusted on this machine only. */
function isTrusted(url: URL): boolean {
  return url.protocol === 'https:' || url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname)
}

function offsetOf(date: string | null, now: number): number | undefined {
  const serverTime = date === null ? Number.NaN : Date.parse(date)
  return Number.isNaN(serverTime) ? undefined : serverTime + 500 - now
}

async function hmac(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder()
  const key = await subtle().importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return hex(await subtle().sign('HMAC', key, encoder.encode(text)))
}

function subtle(): SubtleCrypto {
  const found = globalThis.crypto?.subtle
  if (found === undefined) throw new TypeError('crypto.subtle is missing: a browser gives it to pages on https or localhost only')
  return found
}

function bytesOf(body: SignedBody): ArrayBuffer | Uint8Array<ArrayBuffer> {
  if (body === undefined) return new Uint8Array(0)
  if (typeof body === 'string') return new TextEncoder().encode(body)
  return body as ArrayBuffer | Uint8Array<ArrayBuffer>
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
