import type { Context } from 'koa'
import { defineService } from 'zin'

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

/** Issues, checks and revokes JWTs. */
export interface Tokens {
  /** Signs; `iss`, `aud`, `jti`, `iat`, `exp` are set by it. */
  issue(claims: Readonly<Record<string, unknown>>, options?: { readonly expiresInSeconds?: number }): Promise<{ readonly token: string; readonly claims: Claims }>
  /** Checks signature, algorithm and registered claims, without any store. Throws a ZinError with status 401. */
  verify(token: string): Claims
  /** Keys that a revocation check reads from the kv store, so that a caller can read them with others in one round trip. */
  revocationKeys(claims: Claims): readonly string[]
  /** Whether the values read for {@link revocationKeys} say that the token is revoked. */
  isRevokedBy(claims: Claims, values: readonly (string | null)[]): boolean
  isRevoked(claims: Claims): Promise<boolean>
  /** Until its `exp`. */
  revoke(claims: Claims): Promise<void>
  /** Every token of a user issued before now. */
  revokeUser(sub: string | number): Promise<void>
}

export const tokensService = defineService<Tokens>('jwt.tokens')

/** Attaches verified claims: `ctx.request.user`, `ctx.state.user`, and the request context's user id when `sub` is there. */
export type AttachUser = (ctx: Context, claims: Claims) => void
