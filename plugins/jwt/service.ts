import { createHash, type KeyObject } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import { type Clock, messageOf } from 'zin'
import { checkedClaims, clockLeeway, inTime, maxTokenBytes } from './claims.js'
import type { Claims, Tokens } from './contract.js'
import { signEdDsa, verifyEdDsa } from './eddsa.js'
import { jwtErrors } from './errors.js'
import { issuedAtMs, newJti } from './jti.js'
import type { Algorithm, Keyring } from './keys.js'
import type { Revocations } from './revocations.js'
import { VerifiedTokens } from './verified.js'

export interface TokenRules {
  readonly issuer: string
  readonly audience: string
  /** Seconds. */
  readonly expiresIn: number
  /** Seconds. */
  readonly maxLifetime: number
}

export interface TokenParts {
  readonly keys: Keyring
  readonly rules: TokenRules
  readonly revocations: Revocations
  /** Since when a key of `keys.former` is a former one, in ms since 1970. */
  readonly formerSince: (kid: string) => number
  /** Called after every token of a user was revoked. */
  readonly userRevoked: (sub: string) => Promise<void>
  /** Called after a token of a user, or all of them, have ended. */
  readonly accessEnded: (sub: string) => Promise<unknown>
  /** Whether the stores are open. They are not for a command that only creates a token. */
  readonly isStarted: () => boolean
  readonly clock: Clock
}

const maxIdLength = 128

/** The service `tokensService`: signing and verification depend only on the clock; revocation uses its store. */
export function createTokens({ formerSince, keys, rules, revocations, userRevoked, accessEnded, isStarted, clock }: TokenParts): Tokens {
  const verified = new VerifiedTokens()
  const keyOf = keyFinder(keys)
  const { algorithm } = keys
  const verifySignature = (token: string, key: KeyObject, now: number): unknown =>
    algorithm === 'EdDSA' ? verifyEdDsa(token, key, rules) : jsonwebtoken.verify(token, key, { ...rulesOf(algorithm), clockTimestamp: now })
  const rulesOf = (only: Exclude<Algorithm, 'EdDSA'>) => ({
    algorithms: [only],
    issuer: rules.issuer,
    audience: rules.audience,
    ignoreNotBefore: true,
  })

  const keysOf = (claims: Claims): readonly string[] =>
    claims.sub === undefined ? [revokedKey(claims.jti)] : [revokedKey(claims.jti), epochKey(claims.sub)]

  const revocationKeys = (claims: Claims): readonly string[] =>
    revocations.birthKey === undefined ? [] : [revocations.birthKey, ...keysOf(claims)]

  /** Now, but at least 1 ms after the birth of the store, which may follow another clock: older tokens are refused. */
  const present = async (): Promise<number> => (isStarted() ? Math.max(clock.now(), (await revocations.birth()) + 1) : clock.now())

  const isListed = (claims: Claims, values: readonly (string | null)[]): boolean => {
    if (values.length < (claims.sub === undefined ? 1 : 2)) return true
    const [revoked, epoch = null] = values
    return revoked !== null || (epoch !== null && isUpTo(claims, Number(epoch)))
  }

  const isRevokedBy = (claims: Claims, values: readonly (string | null)[]): boolean | Promise<boolean> => {
    const local = revocations.local(keysOf(claims))
    if (local !== undefined) return isListed(claims, local)
    const [birth, ...known] = values
    if (birth === undefined || isListed(claims, known)) return true
    return birth === null ? revocations.birth().then((since) => isUpTo(claims, since)) : isUpTo(claims, Number(birth))
  }

  const isRevoked: Tokens['isRevoked'] = async (claims, { foreign = false } = {}) => {
    const keys = foreign ? keysOf(claims) : revocationKeys(claims)
    const values = revocations.birthKey === undefined ? [] : await revocations.read(keys)
    return foreign ? isListed(claims, revocations.local(keys) ?? values) : isRevokedBy(claims, values)
  }

  return {
    algorithm: keys.algorithm,
    longestLifeMs: (rules.maxLifetime + 2 * clockLeeway) * 1000,
    ephemeral: keys.ephemeral,
    publicKeys:
      keys.algorithm === 'HS256'
        ? []
        : [...keys.verifying].map(([kid, key]) => ({ ...key.export({ format: 'jwk' }), kid, alg: keys.algorithm, use: 'sig' })),

    async issue(claims, { expiresInSeconds = rules.expiresIn, issuer = rules.issuer, audience = rules.audience } = {}) {
      if (keys.fault !== undefined) throw keys.fault as Error
      if (keys.signing === undefined) throw jwtErrors.JWT_KEY_MISSING(keys.algorithm, 'JWT_PRIVATE_KEY to issue tokens')
      if (!(expiresInSeconds > 0 && expiresInSeconds <= rules.maxLifetime))
        throw jwtErrors.JWT_LIFETIME_INVALID(expiresInSeconds, rules.maxLifetime)
      const nowMs = await present()
      const iat = Math.floor(nowMs / 1000)
      const own = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
      const payload = { ...own, iss: issuer, aud: audience, jti: newJti(nowMs), iat, exp: iat + Math.floor(expiresInSeconds) }
      const token =
        algorithm === 'EdDSA'
          ? signEdDsa(payload, keys.signing, keys.kid)
          : jsonwebtoken.sign(payload, keys.signing, { algorithm, keyid: keys.kid })
      return { token, claims: payload }
    },

    verify(token, at = clock.now()) {
      if (token.length > maxTokenBytes) throw jwtErrors.UNAUTHORIZED('the token is longer than 8 KiB')
      const now = Math.floor(at / 1000)
      const known = verified.payloadOf(token)
      if (known !== undefined) return checkedClaims(inTime(known, now), rules, now)
      const [kid, key] = keyOf(token)
      let payload: unknown
      try {
        payload = verifySignature(token, key, now)
      } catch (error) {
        throw jwtErrors.UNAUTHORIZED(messageOf(error))
      }
      const claims = checkedClaims(inTime(payload, now), rules, now)
      // What was signed before the key was replaced ends by then: whoever has the key can sign nothing that lasts longer.
      if (keys.former.has(kid) && claims.exp * 1000 > formerSince(kid) + (rules.maxLifetime + clockLeeway) * 1000)
        throw jwtErrors.UNAUTHORIZED('the token ends later than one that was signed before its key was replaced')
      verified.add(token, claims)
      return claims
    },

    revocationKeys,
    isRevokedBy,
    isRevoked,

    access(claims) {
      const leftMs = (): number => claims.exp * 1000 - clock.now()
      return { lastsMs: leftMs(), holds: async () => leftMs() > 0 && !(await isRevoked(claims)) }
    },

    async revoke(claims) {
      const ttlMs = (claims.exp + clockLeeway) * 1000 - clock.now()
      if (ttlMs <= 0) return
      await revocations.write(revokedKey(claims.jti), '1', ttlMs)
      if (claims.sub !== undefined) await accessEnded(String(claims.sub))
    },

    async revokeUser(sub) {
      await revocations.write(epochKey(sub), String(await present()), (rules.maxLifetime + clockLeeway) * 1000)
      await userRevoked(String(sub))
      await accessEnded(String(sub))
    },
  }
}

type FoundKey = readonly [kid: string, key: KeyObject]

/** How many accepted headers are remembered. All tokens of one key have the same, byte by byte. */
const mostHeaders = 32

/** Returns a function that finds the key with the id in the token's header, and the id. Nothing else in the header is trusted. */
function keyFinder(keys: Keyring): (token: string) => FoundKey {
  const known = new Map<string, FoundKey>()
  return (token) => {
    const header = token.slice(0, token.indexOf('.'))
    const found = known.get(header) ?? keyOf(header, keys)
    if (known.size < mostHeaders) known.set(header, found)
    return found
  }
}

function keyOf(encoded: string, keys: Keyring): FoundKey {
  let header: unknown
  try {
    header = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'))
  } catch {
    throw jwtErrors.UNAUTHORIZED('the header of the token cannot be read')
  }
  const { crit, kid = keys.kid } = (typeof header === 'object' && header !== null ? header : {}) as { crit?: unknown; kid?: unknown }
  if (crit !== undefined) throw jwtErrors.UNAUTHORIZED('the token has critical extensions')
  const key = typeof kid === 'string' ? keys.verifying.get(kid) : undefined
  if (key === undefined) throw jwtErrors.UNAUTHORIZED('no key has the key id of the token')
  return [kid as string, key]
}

/** Whether a token was issued up to a time. NaN counts as later than any time. */
function isUpTo(claims: Claims, at: number): boolean {
  return !(issuedAtMs(claims) > at)
}

function revokedKey(jti: string): string {
  return `jwt:revoked:${jti}`
}

function epochKey(sub: string | number): string {
  const text = String(sub)
  return `jwt:epoch:${text.length <= maxIdLength ? text : `sha256-${createHash('sha256').update(text).digest('hex')}`}`
}
