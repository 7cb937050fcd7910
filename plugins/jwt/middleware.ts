import type { Context } from 'koa'
import { attachUser, defineMiddleware, noteAccess, type RouteMiddleware, refuse, withinAuthBudget, ZinError } from 'zin'
import type { Claims, Credential, Tokens } from './contract.js'
import type { AcceptedCredentials } from './credentials.js'
import { jwtErrors } from './errors.js'

declare module 'zin' {
  interface MiddlewareState {
    auth: { user: Claims }
  }
}

export interface AuthParts {
  readonly tokens: Tokens
  readonly others: AcceptedCredentials
  /** Called with the reason and the layer of a refusal; the response never contains them. */
  readonly refused: (ctx: Context, error: ZinError, layer: 1 | 2) => void
}

/** The middleware behind the key `auth`. */
export function authMiddleware({ tokens, others, refused }: AuthParts): RouteMiddleware {
  /** The claims of a token of the app, or why it is none. */
  const own = (token: string | undefined): Claims | ZinError => {
    if (token === undefined) return jwtErrors.UNAUTHORIZED('the bearer token is missing')
    if (!jwtGrammar.test(token)) return jwtErrors.UNAUTHORIZED('the bearer token is not a JWT')
    try {
      return tokens.verify(token)
    } catch (error) {
      if (isRefusal(error)) return error
      throw error
    }
  }

  const other = async (ctx: Context, token: string | undefined, error: ZinError): Promise<Credential> => {
    const found = others.isEmpty ? undefined : await withinAuthBudget(ctx, () => others.find(ctx, token))
    if (found === undefined) throw error
    return found
  }

  return defineMiddleware({
    key: 'auth',
    // Read at each compilation of the routes, when every plugin has registered its credentials.
    get security() {
      return others.security
    },
    state: ['user'],
    async handler(ctx, next) {
      let layer: 1 | 2 = 1
      try {
        const token = bearerOf(ctx)
        const mine = own(token)
        const credential: Credential = mine instanceof ZinError ? await other(ctx, token, mine) : { claims: mine }
        const { claims, revocable = true, access = () => tokens.access(claims) } = credential
        layer = 2
        if (revocable && (await withinAuthBudget(ctx, () => tokens.isRevoked(claims)))) throw jwtErrors.UNAUTHORIZED('the token is revoked')
        attachUser(ctx, claims)
        noteAccess(ctx, access)
      } catch (error) {
        if (!isRefusal(error)) throw error
        refused(ctx, error, layer)
        return refuse(ctx, 'auth')
      }
      return next()
    },
  })
}

function isRefusal(error: unknown): error is ZinError {
  return error instanceof ZinError && error.status === 401
}

const bearer = /^Bearer(?: (.*))?$/is
const jwtGrammar = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** The bearer token, of any form; `undefined` without a header of this scheme. */
function bearerOf(ctx: Context): string | undefined {
  const match = bearer.exec(ctx.req.headers.authorization ?? '')
  return match === null ? undefined : (match[1] ?? '')
}
