import { type Access, defineService } from 'zin'

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
  /** Revokes every token of a user issued before now. */
  revokeUser(sub: string | number): Promise<void>
}

export const tokensService = defineService<Tokens>('jwt.tokens')

/** The OpenAPI security scheme of the token, for the `security` of a middleware, under the name `bearer`. */
export const bearerScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
