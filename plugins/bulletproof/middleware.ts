import { attachUser, defineMiddleware, type RouteMiddleware, refuse } from 'zin'
import { bearerScheme, type Claims } from 'zin/plugins/jwt'
import type { Signer } from './contract.js'
import type { HttpChecks } from './signed-requests.js'

declare module 'zin' {
  interface MiddlewareState {
    bulletproof: { user: Claims; signer: Signer }
  }
}

/**
 * The middleware behind the key `bulletproof`. It also checks the token, so a route that lists `auth` directly before it runs only this
 * one.
 */
export function bulletproofMiddleware(checks: Pick<HttpChecks, 'decide' | 'scheme'>): RouteMiddleware {
  return defineMiddleware({
    key: 'bulletproof',
    security: [{ bearer: bearerScheme, signature: checks.scheme }],
    state: ['user', 'signer'],
    replaces: 'auth',
    handler: (ctx, next) =>
      checks.decide(ctx, (result) => {
        if (!result.ok) return refuse(ctx, 'bulletproof')
        attachUser(ctx, result.claims)
        ctx.state.signer = result.signer
        return next()
      }),
  })
}
