import type { Context } from 'koa'
import { type Access, defineService, type SecurityRequirement } from 'zin'

/** Claims of a verified token: the spec's payload and the registered claims, which are always present. */
export interface Claims {
  readonly sub?: string | number
  readonly email?: string
  readonly role?: string
  readonly deviceId?: string
  readonly tz?: string
  readonly uaHash?: string
  readonly iss: string
  readonly aud: string | readonly string[]
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly [claim: string]: unknown
}

export interface IssueOptions {
  /** Default: the app's. */
  readonly expiresInSeconds?: number
  /** With another issuer or audience than the app's, this app refuses the token. */
  readonly issuer?: string
  readonly audience?: string
}

/** Issues, verifies and revokes JWTs. */
export interface Tokens {
  /** The only algorithm of the app's tokens. */
  readonly algorithm: string
  /** The longest time after issue that a token can be accepted, in ms, including the tolerance for clock skew. */
  readonly longestLifeMs: number
  /** Whether the key was generated for this process, so that no other process accepts its tokens. */
  readonly ephemeral: boolean
  /** Signs a token and sets `iss`, `aud`, `jti`, `iat` and `exp`. */
  issue(claims: Readonly<Record<string, unknown>>, options?: IssueOptions): Promise<{ readonly token: string; readonly claims: Claims }>
  /**
   * Verifies signature, algorithm and registered claims, without any store. Throws a ZinError with status 401.
   * @param at the time of verification, ms since 1970; default now.
   */
  verify(token: string, at?: number): Claims
  /**
   * Keys that a revocation check reads from the kv store, so that a caller can read them with other keys in one round trip.
   * Empty without kv: revocations are then kept in this process, and {@link isRevokedBy} reads them itself.
   */
  revocationKeys(claims: Claims): readonly string[]
  /**
   * Whether, by the values of {@link revocationKeys}, the token is revoked or older than the data of the store.
   * Too few values count as revoked. Returns a promise only for the first check after a flush of the store.
   */
  isRevokedBy(claims: Claims, values: readonly (string | null)[]): boolean | Promise<boolean>
  /** Throws a ZinError with status 503 when the store does not respond. */
  isRevoked(claims: Claims): Promise<boolean>
  /** The access of a verified token, for `noteAccess`: valid until its `exp`, and while it is not revoked. */
  access(claims: Claims): Access
  /** Revokes the token until its `exp`. */
  revoke(claims: Claims): Promise<void>
  /** Revokes every token of a user issued before now. Other credentials end by the hook `onRevokeUser`; rejects if a listener fails. */
  revokeUser(sub: string | number): Promise<void>
}

export const tokensService = defineService<Tokens>('jwt.tokens')

/** The owner of a credential that is not a token of the app. */
export interface Credential {
  /** Becomes `ctx.request.user`. Give it a `jti`, `iat` and `exp` of its own: revocations refer to them, and nothing else checks them. */
  readonly claims: Claims
  /**
   * Whether `auth` also refuses it when its `jti`, or every credential of its `sub` issued before some time, is revoked. Default true.
   * `false` for a credential whose own store ends it, with a listener of `onRevokeUser`; a revocation is kept for `longestLifeMs` only.
   */
  readonly revocable?: boolean
  /** Its access, for event streams. Default: that of a token, until `exp` and while it is not revoked. */
  readonly access?: () => Access
}

/** Why a credential is refused: for logs only, the response never contains it. */
export interface Refused {
  readonly refused: string
}

/**
 * A kind of credential that `auth` accepts beside the tokens of the app. `undefined` means that it is none of this kind; then the next kind is
 * asked. A `ZinError` that a function throws is the response; with status 401 it is a refusal like any other. Both share the 5 s
 * that a request may wait for authentication.
 */
export interface CredentialKind {
  /** For logs, such as `session`. */
  readonly name: string
  /** What it requires, for OpenAPI, as an alternative to the bearer token. Not needed for other bearer tokens. */
  readonly security?: SecurityRequirement
  /** Called for a bearer token of any form that is not a valid token of the app. */
  fromToken?(token: string, ctx: Context): Credential | Refused | undefined | Promise<Credential | Refused | undefined>
  /** Called for a request without a bearer token, so that a request never has two users. */
  fromRequest?(ctx: Context): Credential | Refused | undefined | Promise<Credential | Refused | undefined>
}

/**
 * Extends what the middleware `auth` accepts. Routes with `bulletproof`, and `ops`, accept only tokens of the app. The README has an example.
 */
export interface Credentials {
  /** Call it in `setup`. Returns a function that removes the kind, for `onStop`. */
  accept(kind: CredentialKind): () => void
}

export const credentialsService = defineService<Credentials>('jwt.credentials')

/** The OpenAPI security scheme of the token, for the `security` of a middleware, under the name `bearer`. */
export const bearerScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
