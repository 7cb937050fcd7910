import type { Context } from 'koa'
import { attachUser, defineMiddleware, noteAccess, type RouteMiddleware, refuse, withinAuthBudget, ZinError } from 'zin'
import { bearerScheme, type Claims, type Tokens } from './contract.js'
import { jwtErrors } from './errors.js'

declare module 'zin' {
  interface MiddlewareState {
    auth: { user: Claims }
  }
}

export interface AuthParts {
  readonly tokens: Tokens
  /** Called with the reason and the layer of a refusal; the response never contains them. */
  readonly refused: (ctx: Context, error: ZinError, layer: 1 | 2) => void
}

/** The middleware behind the key `auth`. */
export function authMiddleware({ tokens, refused }: AuthParts): RouteMiddleware {
  return defineMiddleware({
    key: 'auth',
    security: [{ bearer: bearerScheme }],
    state: ['user'],
    async handler(ctx, next) {
      let layer: 1 | 2 = 1
      try {
        const claims = tokens.verify(bearerOf(ctx))
        layer = 2
        if (await withinAuthBudget(ctx, () => tokens.isRevoked(claims))) throw jwtErrors.UNAUTHORIZED('the token is revoked')
        attachUser(ctx, claims)
        noteAccess(ctx, () => tokens.access(claims))
      } catch (error) {
        if (!(error instanceof ZinError) || error.status !== 401) throw error
        refused(ctx, error, layer)
        return refuse(ctx, 'auth')
      }
      return next()
    },
  })
}

const bearer = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

function bearerOf(ctx: Context): string {
  const token = bearer.exec(ctx.req.headers.authorization ?? '')?.[1]
  if (token === undefined) throw jwtErrors.UNAUTHORIZED('the bearer token is missing')
  return token
}
