import { randomUUID } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import { type Clock, messageOf } from 'zin'
import type { ServiceAuth } from './contract.js'

/** Lifetime of a token and how long it is reused, in seconds. */
const lifetime = 60
const reused = 30
/** Longest accepted lifetime of a token from another issuer, in seconds. */
const longest = 3600
const maxBytes = 8192
const tolerance = 5

export interface JwtOptions {
  readonly secret: string
  /** Claim `aud`: name of the service. */
  readonly service: string
  /** Claim `iss`: name of the calling app. */
  readonly caller: string
  readonly clock: Clock
}

/** Strategy `jwt`: short-lived HS256 tokens for one service. `aud` is its name; `exp` is required. */
export function serviceJwt({ secret, service, caller, clock }: JwtOptions): ServiceAuth {
  let token = ''
  let renewAt = 0
  return {
    credentials() {
      const now = Math.floor(clock.now() / 1000)
      if (now >= renewAt || now < renewAt - reused) {
        const claims = { iss: caller, aud: service, jti: randomUUID(), iat: now, exp: now + lifetime }
        token = jsonwebtoken.sign(claims, secret, { algorithm: 'HS256' })
        renewAt = now + reused
      }
      return { authorization: `Bearer ${token}` }
    },
    refusal({ headers }) {
      const [, given] = /^Bearer (\S+)$/i.exec(headers.authorization?.toString() ?? '') ?? []
      if (given === undefined || given.length > maxBytes) return 'no bearer token'
      const now = Math.floor(clock.now() / 1000)
      try {
        const options = {
          algorithms: ['HS256' as const],
          audience: service,
          clockTimestamp: now,
          clockTolerance: tolerance,
          complete: false as const,
        }
        const claims = jsonwebtoken.verify(given, secret, options)
        if (typeof claims === 'string' || typeof claims.exp !== 'number') return 'the token has no exp'
        return claims.exp > now + longest ? 'the lifetime of the token is too long' : undefined
      } catch (error) {
        return messageOf(error)
      }
    },
  }
}
