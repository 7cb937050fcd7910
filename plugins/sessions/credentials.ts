import type { Context } from 'koa'
import type { Clock } from 'zin'
import type { CredentialKind } from 'zin/plugins/jwt'
import type { SessionManager } from './manager.js'

export interface SessionCredentialParts {
  readonly manager: SessionManager
  readonly clock: Clock
  readonly lifetimeMs: number
  readonly cookieName: string
  readonly app: string
}

/** Lets `auth` accept a signed-in session. */
export function sessionCredentials({ manager, clock, lifetimeMs, cookieName, app }: SessionCredentialParts): CredentialKind {
  return {
    name: 'session',
    security: { session: { type: 'apiKey', in: 'cookie', name: cookieName } },
    fromRequest(ctx: Context) {
      const open = manager.openOf(ctx)
      const user = open?.signedInUser()
      if (open === undefined || user === undefined) return undefined
      const end = open.createdAt + lifetimeMs
      const iat = Math.floor(open.createdAt / 1000)
      const claims = { ...user, iss: app, aud: app, jti: `session-${open.loginId}`, iat, exp: Math.floor(end / 1000) }
      return {
        claims,
        // Its own store ends it.
        revocable: false,
        access: () => ({ lastsMs: end - clock.now(), holds: () => manager.isAlive(open) }),
      }
    },
  }
}
