import type { Context, Middleware } from 'koa'
import { noteAccess, type Responders, requestContext, ZinError } from 'zin'
import { unauthorized, unauthorizedBody } from './errors.js'
import { withinAuthBudget } from './store-time.js'
import type { AttachUser, Tokens } from './tokens.js'

export interface AuthParts {
  readonly tokens: Tokens
  /** Middleware keys whose owners check the token themselves. */
  readonly checkers: ReadonlySet<string>
  readonly responders: Responders
  /** Hears why a request was refused, and by which of the specification's checks; the answer never says it. */
  readonly refused: (ctx: Context, error: ZinError, layer: 1 | 2) => void
}

/** The middleware behind the key `auth`. */
export function authMiddleware({ tokens, checkers, responders, refused }: AuthParts): Middleware {
  const check = async (ctx: Context, next: () => Promise<unknown>, responder: Responders[string]): Promise<unknown> => {
    let layer: 1 | 2 = 1
    try {
      const claims = tokens.verify(bearerOf(ctx))
      layer = 2
      if (await withinAuthBudget(ctx, () => tokens.isRevoked(claims))) throw unauthorized('the token is revoked')
      ctx.state.tokenVerified = claims
      attachUser(ctx, claims)
      noteAccess(ctx, () => tokens.access(claims))
    } catch (error) {
      if (!(error instanceof ZinError) || error.status !== 401) throw error
      refused(ctx, error, layer)
      return refuse(ctx, responder)
    }
    return next()
  }
  return (ctx, next) => {
    const keys = checkers.size === 0 ? [] : keysAfterAuth()
    // Whoever comes next decides: nothing runs in between that could take the request for a checked one.
    if (keys[0] !== undefined && checkers.has(keys[0])) return next()
    return check(ctx, next, responders[keys.find((key) => checkers.has(key)) ?? 'auth'])
  }
}

const attachUser: AttachUser = (ctx, claims) => {
  Object.assign(ctx.request, { user: claims })
  ctx.state.user = claims
  const request = requestContext()
  if (request !== undefined && claims.sub !== undefined) request.userId = String(claims.sub)
}

/** The middleware keys that the matched route lists after `auth`. Without a matched route there are none, and `auth` checks. */
function keysAfterAuth(): readonly string[] {
  const keys = requestContext()?.route?.use ?? []
  const place = keys.indexOf('auth')
  return place < 0 ? [] : keys.slice(place + 1)
}

const bearer = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i

function bearerOf(ctx: Context): string {
  const token = bearer.exec(ctx.req.headers.authorization ?? '')?.[1]
  if (token === undefined) throw unauthorized('there is no bearer token')
  return token
}

/** Status and header are set first: an answer of a responder that fails is no pass either. */
async function refuse(ctx: Context, responder: Responders[string]): Promise<void> {
  ctx.status = 401
  ctx.set('WWW-Authenticate', 'Bearer')
  ctx.set('Cache-Control', 'no-store')
  const body = responder === undefined ? unauthorizedBody : await responder(ctx, unauthorizedBody.reason)
  if (body !== undefined) ctx.body = body
}
