import { toHex } from './bytes.js'
import { canonicalRequest, KEY_ID_PATTERN, NONCE_PATTERN, signatureHeaderNames, TIMESTAMP_PATTERN } from './canonical.js'
import { type Rfc9421Credential, type Rfc9421SignOptions, signMessage } from './rfc9421/client.js'
import { baseUrl, hmacSha256, newNonce, type SignedBody, sha256 } from './web-crypto.js'

export type { Rfc9421Credential, Rfc9421SignOptions } from './rfc9421/client.js'
export type { DeviceKey, DevicePrivateKey } from './rfc9421/device-key.js'
export { generateDeviceKey } from './rfc9421/device-key.js'
export type { SignedBody } from './web-crypto.js'

export interface SignOptions {
  readonly profile?: 'v1'
  /** In any case. */
  readonly method: string
  /** Absolute, or a path with its query. Only path and query are signed. */
  readonly url: string | URL
  /** The exact bytes that will be sent; text is signed as UTF-8. Default: the empty body. */
  readonly body?: SignedBody
  /** The device id, or the name of a caller that has the shared secret. */
  readonly keyId: string
  /** Used unchanged: its UTF-8 bytes are the HMAC key, and a `base64:` prefix is not decoded. */
  readonly secret: string
  /** ms since 1970. Default: now. */
  readonly timestamp?: number
  /** 16 to 128 of `A-Z a-z 0-9 _ -`. Default: a random UUID. */
  readonly nonce?: string
  /** Default `x-sig-`. */
  readonly headerPrefix?: string
}

/**
 * Header name → value. Profile v1: `<prefix>key-id`, `-timestamp`, `-nonce`, `-body-sha256` and `-signature`, and
 * `<prefix>device-id`, which equals the key id and is required by the device check. Profile rfc9421: `signature-input`,
 * `signature`, `<prefix>device-id`, `content-digest` with a body, and the given `content-type` and `authorization`.
 */
export type SignedHeaders = Readonly<Record<string, string>>

/**
 * Creates the headers of one signed request. Requires `crypto.subtle`: Node 20, workerd, or a browser page on https or localhost.
 * Throws a TypeError for a missing or empty secret or key id, and for a key id, nonce or timestamp that no server would accept.
 *
 * @example
 * const body = JSON.stringify({ to: 'ada@example.com' })
 * const headers = await createHeaders({ method: 'POST', url: 'https://api.example.com/v1/mails', body, keyId, secret })
 * await fetch('https://api.example.com/v1/mails', { method: 'POST', body, headers: { ...headers, authorization: `Bearer ${token}` } })
 *
 * @example RFC 9421, with a key that never leaves the device
 * const { privateKey, publicKey } = await generateDeviceKey() // send publicKey to the login as devicePublicKey
 * const signed = { method: 'GET', url: 'https://api.example.com/api/me', keyId, privateKey, authorization: `Bearer ${token}` }
 * const headers = await createHeaders({ profile: 'rfc9421', ...signed })
 */
export async function createHeaders(options: SignOptions | Rfc9421SignOptions): Promise<SignedHeaders> {
  if (options.profile === 'rfc9421') return signMessage(options)
  const { method, body, keyId, secret, headerPrefix } = options
  const nonce = options.nonce ?? newNonce()
  const timestamp = String(options.timestamp ?? Date.now())
  // An unset environment variable is undefined, whatever the type says.
  if (!secret) throw new TypeError('secret is missing or empty')
  if (!keyId || !KEY_ID_PATTERN.test(keyId)) throw new TypeError('keyId must be 1 to 128 letters, digits or . _ : @ -')
  if (!NONCE_PATTERN.test(nonce)) throw new TypeError('nonce must be 16 to 128 letters, digits, _ or -')
  if (!TIMESTAMP_PATTERN.test(timestamp)) throw new TypeError('timestamp must be whole milliseconds since 1970')

  const { pathname, search } = resolve(options.url)
  const bodySha256 = toHex(await sha256(body))
  const signature = toHex(await hmacSha256(secret, canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 })))
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
  readonly profile?: 'v1'
  readonly keyId: string
  readonly secret: string
  /** The JWT, or a function that returns the current one. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>)
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch
  readonly headerPrefix?: string
  /** IANA time zone sent as `<prefix>timezone`, for tokens with a `tz` claim. */
  readonly timezone?: string
  /** ms since 1970. Default: the system clock. */
  readonly now?: () => number
}

/** Options of {@link signedFetch} for RFC 9421, with the device's secret or its Ed25519 key. */
export type Rfc9421FetchOptions = Omit<SignedFetchOptions, 'profile' | 'secret'> & Rfc9421Credential & { readonly profile: 'rfc9421' }

/** A smaller clock offset is ignored: `Date` has a resolution of one second. */
const SKEW_MS = 5_000

/**
 * Creates a fetch function that signs each request and adds the bearer token. If the `Date` of a 401 response shows that this machine's
 * clock is off, it remembers the offset and retries the request once with a new nonce. `Date` is trusted only over https and from this
 * machine; a page on another origin can read it only if the server lists it in `Access-Control-Expose-Headers`.
 * The body is read into memory before it is sent. Redirects are returned, not followed: a signature is valid for one path.
 *
 * @example
 * const api = signedFetch({ keyId: deviceId, secret: deviceSecret, token })
 * const me = await (await api('https://api.example.com/api/me')).json()
 */
export function signedFetch(options: SignedFetchOptions | Rfc9421FetchOptions): typeof globalThis.fetch {
  const send = options.fetch ?? globalThis.fetch
  const now = options.now ?? Date.now
  const names = signatureHeaderNames(options.headerPrefix)
  let offset = 0

  return async (input, init = {}) => {
    const prepared = await prepare(input, init)
    const attempt = async (): Promise<Response> => {
      const headers = new Headers(prepared.headers)
      const token = typeof options.token === 'function' ? await options.token() : options.token
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      if (options.timezone !== undefined) headers.set(names.timezone, options.timezone)
      const request = { method: prepared.method, url: prepared.url, body: prepared.body, timestamp: Math.round(now() + offset) }
      const signed = await (options.profile === 'rfc9421'
        ? createHeaders({ ...options, ...request, ...coveredOf(headers) })
        : createHeaders({ ...options, ...request }))
      for (const [name, value] of Object.entries(signed)) headers.set(name, value)
      const target = input instanceof Request ? input.clone() : input
      // null instead of the given body: an empty stream has been consumed by now.
      return send(target, { redirect: 'manual', ...init, method: prepared.method, headers, body: prepared.body ?? null })
    }

    const response = await attempt()
    if (response.status !== 401 || !isTrusted(prepared.url)) return response
    const learned = offsetOf(response.headers.get('date'), now())
    if (learned === undefined || Math.abs(learned - offset) <= SKEW_MS) return response
    offset = learned
    await response.body?.cancel()
    return attempt()
  }
}

/** Returns the headers that RFC 9421 covers, and removes a digest set by the caller: the signer computes it. */
function coveredOf(headers: Headers): Pick<Rfc9421SignOptions, 'contentType' | 'authorization'> {
  headers.delete('content-digest')
  return { contentType: headers.get('content-type') ?? undefined, authorization: headers.get('authorization') ?? undefined }
}

interface Prepared {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: ArrayBuffer | undefined
}

/** Converts the arguments of fetch to the bytes to send, with the content type that fetch would choose. */
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

/** Resolves a URL like fetch: relative to the page, which a `<base>` may change. */
function resolve(url: string | URL): URL {
  return new URL(url, baseUrl() ?? 'http://localhost')
}

/** An attacker who can forge `Date` could make the client sign for the future, so plain http is trusted on this machine only. */
function isTrusted(url: URL): boolean {
  return url.protocol === 'https:' || url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname)
}

function offsetOf(date: string | null, now: number): number | undefined {
  const serverTime = date === null ? Number.NaN : Date.parse(date)
  return Number.isNaN(serverTime) ? undefined : serverTime + 500 - now
}
