import type { Claims } from './contract.js'
import { jwtErrors } from './errors.js'

/** How far another machine's clock may run ahead, in seconds. */
export const clockLeeway = 60
export const maxTokenBytes = 8192
const maxIdLength = 128

/** Checks the times of a payload, also of a cached one. `nbf` has the leeway of `iat`: it comes from the clock of another machine, too. */
export function inTime<T>(payload: T, now: number): T {
  const { nbf, exp } = (typeof payload === 'object' && payload !== null ? payload : {}) as {
    readonly nbf?: unknown
    readonly exp?: unknown
  }
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + clockLeeway)) throw jwtErrors.UNAUTHORIZED('jwt not active')
  if (!(now < Number(exp))) throw jwtErrors.UNAUTHORIZED('jwt expired')
  return payload
}

/**
 * The payload of a token whose signature, issuer and audience are verified, if its registered claims are those of a token that `auth`
 * accepts: `jti`, `iat`, `exp`, `sub` and the lifetime. Throws UNAUTHORIZED.
 *
 * @param now seconds since 1970.
 */
export function checkedClaims(payload: unknown, { maxLifetime }: { readonly maxLifetime: number }, now: number): Claims {
  if (typeof payload !== 'object' || payload === null) throw jwtErrors.UNAUTHORIZED('the payload is not an object')
  const { jti, iat, exp, sub } = payload as Record<string, unknown>
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength)
    throw jwtErrors.UNAUTHORIZED('the claim jti is missing or malformed')
  if (!isTime(iat) || !isTime(exp)) throw jwtErrors.UNAUTHORIZED('the claims iat and exp are required')
  if (exp - iat > maxLifetime) throw jwtErrors.UNAUTHORIZED('the lifetime of the token is too long')
  if (iat > now + clockLeeway) throw jwtErrors.UNAUTHORIZED('the token is issued in the future')
  if (sub !== undefined && typeof sub !== 'string' && !Number.isFinite(sub))
    throw jwtErrors.UNAUTHORIZED('the claim sub is neither a string nor a number')
  return payload as Claims
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}
