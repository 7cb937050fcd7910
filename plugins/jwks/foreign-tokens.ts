import type { errors, JWTHeaderParameters, JWTPayload, JWTVerifyOptions, jwtVerify } from 'jose'
import { type Clock, messageOf, ZinError } from 'zin'
import { type Claims, type Credential, checkedClaims, inTime, maxTokenBytes, type Refused, type Tokens } from 'zin/plugins/jwt'
import { sha256Hex } from 'zin/signing'
import type { IssuerKeys, KeysInForce } from './issuer-keys.js'
import type { MapClaims } from './options.js'

export interface Issuer {
  readonly issuer: string
  readonly audience: string | readonly string[]
  readonly algorithms: readonly string[]
  readonly mapClaims?: MapClaims | undefined
  readonly keys: IssuerKeys
}

export interface ForeignTokenParts {
  readonly issuers: readonly Issuer[]
  readonly tokens: () => Tokens
  readonly jose: { readonly jwtVerify: typeof jwtVerify; readonly errors: typeof errors }
  readonly clock: Clock
}

/** Maximum number of keys that a token without a `kid` is tried with. */
const maxTried = 8
const grammar = /^([\w-]+)\.([\w-]+)\.[\w-]+$/

/** Returns a function that verifies a token of one of the issuers; `undefined` for a token of nobody known. */
export function foreignTokens({ issuers, tokens, jose, clock }: ForeignTokenParts) {
  const byName = new Map(issuers.map((one) => [one.issuer, one]))
  /** Two minutes of leeway are included. */
  const maxLifetime = (): number => tokens().longestLifeMs / 1000 - 120

  /** A token without a `kid` is tried with each key of its algorithm: during a rotation there are two. */
  const payloadOf = async (token: string, set: KeysInForce['set'], options: JWTVerifyOptions): Promise<JWTPayload> => {
    try {
      return (await jose.jwtVerify(token, set, options)).payload
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error
      let left = maxTried
      for await (const key of error) {
        if (left === 0) break
        left -= 1
        try {
          return (await jose.jwtVerify(token, key, options)).payload
        } catch (failure) {
          if (!(failure instanceof jose.errors.JWSSignatureVerificationFailed)) throw failure
        }
      }
      throw new jose.errors.JWSSignatureVerificationFailed()
    }
  }

  const verify = async (token: string, issuer: Issuer, { set, verified }: KeysInForce, now: number): Promise<Claims> => {
    const known = verified.payloadOf(token)
    if (known !== undefined) return checkedClaims(inTime(known, now), { maxLifetime: maxLifetime() }, now)
    const payload = await payloadOf(token, set, {
      issuer: issuer.issuer,
      audience: [...[issuer.audience].flat()],
      algorithms: [...issuer.algorithms],
      currentDate: new Date(now * 1000),
      // The leeway of `auth` is the same for every token; it is checked below.
      clockTolerance: 60,
    })
    // A token without a `jti` is revoked by its hash.
    const named = { ...payload, jti: payload.jti ?? `sha256-${sha256Hex(token)}` }
    const claims = checkedClaims(inTime(named, now), { maxLifetime: maxLifetime() }, now)
    verified.add(token, claims)
    return claims
  }

  /** Whether another key of the issuer could verify the token: its `kid` is unknown, or it has none and the keys were replaced. */
  const maybeRotated = (error: unknown, header: JWTHeaderParameters): boolean =>
    error instanceof jose.errors.JWKSNoMatchingKey ||
    (header.kid === undefined && error instanceof jose.errors.JWSSignatureVerificationFailed)

  const claimsOf = async (token: string, issuer: Issuer, header: JWTHeaderParameters): Promise<Claims> => {
    const now = Math.floor(clock.now() / 1000)
    const keys = await issuer.keys.current()
    try {
      return await verify(token, issuer, keys, now)
    } catch (error) {
      const newer = maybeRotated(error, header) ? await issuer.keys.newer(keys) : undefined
      if (newer === undefined) throw error
      return verify(token, issuer, newer, now)
    }
  }

  const credentialOf = (claims: Claims): Credential => {
    const holds = async (): Promise<boolean> => claims.exp * 1000 > clock.now() && !(await tokens().isRevoked(claims, { foreign: true }))
    return { claims, revocable: false, access: () => ({ lastsMs: claims.exp * 1000 - clock.now(), holds }) }
  }

  return async (token: string): Promise<Credential | Refused | undefined> => {
    const [, head = '', body = ''] = token.length > maxTokenBytes ? [] : (grammar.exec(token) ?? [])
    const issuer = byName.get(String(objectIn(body)?.iss))
    if (issuer === undefined) return undefined
    const header = objectIn(head) as JWTHeaderParameters | undefined
    // Before any key is fetched.
    if (header === undefined || !issuer.algorithms.includes(header.alg)) return { refused: 'the algorithm of the token is not allowed' }
    try {
      const claims = await claimsOf(token, issuer, header)
      if (await tokens().isRevoked(claims, { foreign: true })) return { refused: 'the token is revoked' }
      const { iss, aud, jti, iat, exp } = claims
      const mapped = issuer.mapClaims === undefined ? claims : issuer.mapClaims(claims)
      if (mapped === undefined) return { refused: 'mapClaims refuses the claims' }
      return credentialOf({ ...mapped, iss, aud, jti, iat, exp })
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return { refused: messageOf(error) }
      if (error instanceof ZinError && error.status === 401) return { refused: messageOf(error.cause ?? error) }
      throw error
    }
  }
}

function objectIn(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
