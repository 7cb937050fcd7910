import { createHmac, randomUUID } from 'node:crypto'
import { canonicalRequest, type SignatureHeaderNames, sha256Hex } from 'zin/signing'
import type { WireRequest } from './wire.js'

/** The credentials of one caller. */
export interface Credential {
  readonly keyId: string
  readonly secret: string
  readonly token: string
}

/** The credentials of a caller that signs by RFC 9421, and may be pinned to it: a device or a caller with the shared secret. */
export interface MessageCredential {
  readonly keyId: string
  readonly token: string
  readonly alg: 'hmac-sha256' | 'ed25519'
  /** Secret of a caller that signs by HMAC. */
  readonly secret?: string
  /** Base64url of the public key of a device that signs with its own key. */
  readonly publicKey?: string
  readonly sign: (text: string) => Buffer
}

/** Deviations of a minted token from a valid one. */
export interface Minting {
  readonly expiresInSeconds?: number
  readonly issuer?: string
  readonly audience?: string
}

export interface Sessions {
  /** Logs in. `undefined` when the app refuses the login. */
  begin(more?: { readonly deviceId?: string; readonly devicePublicKey?: string }): Promise<Credential | undefined>
  /** Logs out; false when the app refuses. */
  end(session: Credential): Promise<boolean>
  /** Removes a device of the user without revoking its token; false when the app refuses. */
  remove(by: Credential, deviceId: string): Promise<boolean>
}

/** The request that every attack varies. It is sent for real, many times. */
export interface Target {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body: string | undefined
  readonly contentType: string
}

/** The knowledge of the attacker: valid credentials, and facts about the app. */
export interface KitParts {
  /** Value of the header `Host`. */
  readonly host: string
  readonly names: SignatureHeaderNames
  /** Path prefix that clients sign and a gateway removes. */
  readonly signedPathPrefix: string
  /** The host that clients sign by RFC 9421; empty for {@link host}. */
  readonly signedAuthority: string
  readonly windowMs: number
  /** Uncertainty of the server's clock, in ms. */
  readonly marginMs: number
  /** The server's time, ms since 1970. */
  readonly now: () => number
  readonly target: Target
  readonly me: Credential
  /** Whether the secret of `me` is the shared one, which belongs to no user. */
  readonly shared: boolean
  /** Another device of the same user. */
  readonly second?: Credential
  /** Another user. */
  readonly other?: Credential
  /** Callers that sign by RFC 9421. Their devices get pinned to it, so they are different from the others. */
  readonly messages?: readonly MessageCredential[]
  /** Creates tokens that the app accepts; requires the token key of the app. */
  readonly mint?: (claims: Readonly<Record<string, unknown>>, options?: Minting) => Promise<string>
  /** Further sessions of the user; require the password. */
  readonly sessions?: Sessions
  /** The secret of callers without a device, when it is known and is not that of `me`. */
  readonly sharedSecret?: string
  /** Whether attacks may take longer than the window. */
  readonly patient: boolean
}

/** Deviations of a signed request from a valid one. */
export interface Signing {
  readonly as?: Credential
  readonly method?: string
  readonly path?: string
  readonly body?: Buffer | string
  /** Text of the header. */
  readonly timestamp?: string
  readonly nonce?: string
  /** Text of the header, when it is not the hash of the body. */
  readonly bodySha256?: string
}

export class Kit {
  readonly parts: KitParts

  constructor(parts: KitParts) {
    this.parts = parts
  }

  /** The unverified claims of the token of `me`. */
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

  /** The target's path with `added` appended to its query. */
  query(added: string): string {
    return `${this.target.path}${this.target.path.includes('?') ? '&' : '?'}${added}`
  }

  /** A signed request to the target, valid except for the given deviations. */
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

/** The user agent of every request, including logins, because a token may be bound to it. */
export const userAgent = 'zin-auth-attack'

/** The unverified claims of a token; empty when the text is not a token. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
