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
  /** Another issuer or audience than the app's: this app refuses the token. */
  readonly issuer?: string
  readonly audience?: string
}

/** Issues, checks and revokes JWTs. */
export interface Tokens {
  /** The one algorithm of the app's tokens. */
  readonly algorithm: string
  /** How long after its issue a token can still be accepted, at most, in ms; clocks that differ are allowed for. */
  readonly longestLifeMs: number
  /** Whether the key was made up for this process, so that no other process knows its tokens. */
  readonly ephemeral: boolean
  /** Signs; `iss`, `aud`, `jti`, `iat`, `exp` are set by it. */
  issue(claims: Readonly<Record<string, unknown>>, options?: IssueOptions): Promise<{ readonly token: string; readonly claims: Claims }>
  /**
   * Checks signature, algorithm and registered claims, without any store. Throws a ZinError with status 401.
   * @param at when it is judged, ms since 1970; default now.
   */
  verify(token: string, at?: number): Claims
  /**
   * Keys that a revocation check reads from the kv store, so that a caller can read them with others in one round trip.
   * Empty when the app has no kv: revocations are then kept in this process, and {@link isRevokedBy} knows them.
   */
  revocationKeys(claims: Claims): readonly string[]
  /**
   * Whether the values read for {@link revocationKeys} say that the token is revoked, or is older than what the store remembers.
   * Too few values count as revoked. A promise only for the first check after the store was emptied.
   */
  isRevokedBy(claims: Claims, values: readonly (string | null)[]): boolean | Promise<boolean>
  /** Throws a ZinError with status 503 when the store does not respond. */
  isRevoked(claims: Claims): Promise<boolean>
  /** The access of a verified token, for `noteAccess`: until its `exp`, and while it is not revoked. */
  access(claims: Claims): Access
  /** Until its `exp`. */
  revoke(claims: Claims): Promise<void>
  /** Every token of a user issued before now. */
  revokeUser(sub: string | number): Promise<void>
}

export const tokensService = defineService<Tokens>('jwt.tokens')

/** How OpenAPI describes the token, for the `security` of a middleware that takes it, under the name `bearer`. */
export const bearerScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
