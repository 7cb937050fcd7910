import { createHmac, randomUUID } from 'node:crypto'
import { canonicalRequest, type SignatureHeaderNames, sha256Hex } from 'zin/signing'
import type { WireRequest } from './wire.js'

/** What one caller signs with. */
export interface Credential {
  readonly keyId: string
  readonly secret: string
  readonly token: string
}

/** A device, or a caller with the shared secret, that signs by RFC 9421 and may be pinned to it. */
export interface MessageCredential {
  readonly keyId: string
  readonly token: string
  readonly alg: 'hmac-sha256' | 'ed25519'
  /** Of a caller that signs by HMAC. */
  readonly secret?: string
  /** Base64url; of a device with a key of its own. */
  readonly publicKey?: string
  readonly sign: (text: string) => Buffer
}

/** What is unusual about a minted token. */
export interface Minting {
  readonly expiresInSeconds?: number
  readonly issuer?: string
  readonly audience?: string
}

export interface Sessions {
  /** Logs in. `undefined` when the app does not let the user in. */
  begin(more?: { readonly deviceId?: string; readonly devicePublicKey?: string }): Promise<Credential | undefined>
  /** Logs out; false when the app refuses. */
  end(session: Credential): Promise<boolean>
  /** Ends a device of the user without its token; false when the app refuses. */
  remove(by: Credential, deviceId: string): Promise<boolean>
}

/** The request that every attack is a variation of. It is sent for real, more than once. */
export interface Target {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body: string | undefined
  readonly contentType: string
}

/** What an attacker is given: good credentials, and what is known about the app. */
export interface KitParts {
  /** Value of the header `Host`. */
  readonly host: string
  readonly names: SignatureHeaderNames
  /** Path prefix that clients sign and a gateway removes. */
  readonly signedPathPrefix: string
  /** What clients sign as the host by RFC 9421; empty for {@link host}. */
  readonly signedAuthority: string
  readonly windowMs: number
  /** How exactly the server's clock is known, in ms. */
  readonly marginMs: number
  /** The server's time, ms since 1970. */
  readonly now: () => number
  readonly target: Target
  readonly me: Credential
  /** Whether the own secret is the shared one, which belongs to no user. */
  readonly shared: boolean
  /** Another device of the same user. */
  readonly second?: Credential
  /** Another user. */
  readonly other?: Credential
  /** Callers that sign by RFC 9421. A device among them is pinned to it, so it is none of the others. */
  readonly messages?: readonly MessageCredential[]
  /** Makes tokens that the app takes; only for somebody who has its key. */
  readonly mint?: (claims: Readonly<Record<string, unknown>>, options?: Minting) => Promise<string>
  /** More sessions of the user; only for somebody who has the password. */
  readonly sessions?: Sessions
  /** The secret of callers without a device, when it is known and is not the own one. */
  readonly sharedSecret?: string
  /** Whether attacks may take longer than the window. */
  readonly patient: boolean
}

/** What is unusual about a signed request; the rest is as an honest client makes it. */
export interface Signing {
  readonly as?: Credential
  readonly method?: string
  readonly path?: string
  readonly body?: Buffer | string
  /** The header's text. */
  readonly timestamp?: string
  readonly nonce?: string
  /** The header's text, when it is not the body's hash. */
  readonly bodySha256?: string
}

export class Kit {
  readonly parts: KitParts

  constructor(parts: KitParts) {
    this.parts = parts
  }

  /** Claims of the own token, unchecked. */
  get claims(): Readonly<Record<string, unknown>> {
    return claimsOf(this.parts.me.token)
  }

  /** Whether the caller's token names its device; no other key can then sign for it. */
  get bound(): boolean {
    return this.claims.deviceId === this.parts.me.keyId
  }

  get target(): Target {
    return this.parts.target
  }

  /** The target's path without its query. */
  get pathname(): string {
    return this.target.path.split('?')[0] ?? '/'
  }

  /** The target's path with something added to its query. */
  query(added: string): string {
    return `${this.target.path}${this.target.path.includes('?') ? '&' : '?'}${added}`
  }

  /** A correctly signed request to the target, but for what is said. */
  sign(given: Signing = {}): WireRequest {
    const { names, signedPathPrefix, now, target, me, host } = this.parts
    const { as = me, method = target.method, path = target.path, timestamp = String(now()), nonce = randomUUID() } = given
    const body = given.body ?? target.body
    const bytes = body === undefined ? undefined : Buffer.from(body as string)
    const bodySha256 = given.bodySha256 ?? sha256Hex(bytes ?? '')
    const mark = path.indexOf('?')
    const pathname = signedPathPrefix + (mark < 0 ? path : path.slice(0, mark))
    const search = mark < 0 || mark === path.length - 1 ? '' : path.slice(mark)
    const text = canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 })
    const headers: [string, string][] = [
      ['host', host],
      ['accept', 'application/json'],
      ['user-agent', userAgent],
      ...(bytes === undefined ? [] : [['content-type', target.contentType] as [string, string]]),
      ['authorization', `Bearer ${as.token}`],
      [names.keyId, as.keyId],
      [names.timestamp, timestamp],
      [names.nonce, nonce],
      [names.bodySha256, bodySha256],
      [names.signature, createHmac('sha256', as.secret).update(text).digest('hex')],
      [names.deviceId, as.keyId],
    ]
    const { tz } = claimsOf(as.token)
    if (typeof tz === 'string') headers.push([names.timezone, tz])
    return { method, target: path, headers, ...(bytes === undefined ? {} : { body: bytes }) }
  }
}

/** Of every request, logins included, since a token may be bound to it. */
export const userAgent = 'zin-auth-attack'

/** The unverified claims of a token; empty when it is not a token. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
