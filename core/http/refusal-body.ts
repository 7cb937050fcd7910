import type Koa from 'koa'
import type { Context } from 'koa'
import { matchedRoute } from './matched-route.js'

/** Builds the body of a 401 response. `reason` is always `unauthorized`: it never reveals which check failed. */
export type Responder = (ctx: Context, reason: string) => unknown
export type Responders = Readonly<Record<string, Responder | undefined>>

/** The default body of every 401 response, whichever check failed. */
export const unauthorizedBody = { error: 'Unauthorized', message: 'Unauthorized', code: 'UNAUTHORIZED', reason: 'unauthorized' } as const

const responders = Symbol('zin.responders')

/** Sets the responders of an app, by middleware key. */
export function setResponders(koa: Koa, given: Responders): void {
  Object.defineProperty(koa.context, responders, { value: given })
}

/**
 * Rejects a request whose credentials are missing or wrong: the same 401 for every cause, with the body built by
 * `responders.<key>` of the app, or {@link unauthorizedBody}. On a route that also lists a middleware which replaces this one,
 * the responder of the replacement builds the body, so that a client cannot tell which of the two rejected it. The caller must return and
 * not call `next()`.
 *
 * @param key key of the middleware that rejects the request.
 * @param challenge value of `WWW-Authenticate`, default `Bearer`.
 *
 * @example
 * import { defineMiddleware, refuse } from 'zin'
 *
 * const keys = new Set(['key-of-acme'])
 *
 * export const apiKey = defineMiddleware({
 *   key: 'api-key',
 *   handler: (ctx, next) => (keys.has(ctx.get('x-api-key')) ? next() : refuse(ctx, 'api-key', 'ApiKey')),
 * })
 */
export async function refuse(ctx: Context, key: string, challenge = 'Bearer'): Promise<void> {
  // Set first, so that a responder that fails cannot let the request pass.
  ctx.status = 401
  ctx.set('WWW-Authenticate', challenge)
  ctx.set('Cache-Control', 'no-store')
  const own = (ctx as { readonly [responders]?: Responders })[responders]
  const responder = own?.[matchedRoute(ctx)?.refusalKeys.get(key) ?? key]
  const body = responder === undefined ? unauthorizedBody : await responder(ctx, unauthorizedBody.reason)
  if (body !== undefined) ctx.body = body
}
