import type { Context, Middleware } from 'koa'
import { type Responders, requestContext, ZinError } from 'zin'
import { unauthorized, unauthorizedBody } from './errors.js'
import type { AttachUser, Tokens } from './tokens.js'

export interface AuthParts {
  readonly tokens: Tokens
  /** Middleware keys whose owners read revocation themselves. */
  readonly readers: ReadonlySet<string>
  readonly responders: Responders
  /** Hears why a request was refused; the answer never says it. */
  readonly refused: (ctx: Context, error: ZinError) => void
}

/** The middleware behind the key `auth`. */
export function authMiddleware({ tokens, readers, responders, refused }: AuthParts): Middleware {
  return async (ctx, next) => {
    const reader = readerAfterAuth(readers)
    try {
      const claims = tokens.verify(bearerOf(ctx))
      if (reader === undefined && (await tokens.isRevoked(claims))) throw unauthorized('the token is revoked')
      ctx.state.tokenVerified = claims
      attachUser(ctx, claims)
    } catch (error) {
      if (!(error instanceof ZinError) || error.status !== 401) throw error
      refused(ctx, error)
      return refuse(ctx, responders[reader ?? 'auth'])
    }
    return next()
  }
}

const attachUser: AttachUser = (ctx, claims) => {
  Object.assign(ctx.request, { user: claims })
  ctx.state.user = claims
  const request = requestContext()
  if (request !== undefined && claims.sub !== undefined) request.userId = String(claims.sub)
}

/**
 * The key, listed after `auth` on the matched route, whose owner reads revocation together with what else it reads.
 * Without a matched route there is none, and `auth` reads it.
 */
function readerAfterAuth(readers: ReadonlySet<string>): string | undefined {
  if (readers.size === 0) return undefined
  const keys = requestContext()?.route?.use ?? []
  return keys.slice(keys.indexOf('auth') + 1).find((key) => readers.has(key))
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
  const body = responder === undefined ? unauthorizedBody : await responder(ctx, unauthorizedBody.reason)
  if (body !== undefined) ctx.body = body
}
