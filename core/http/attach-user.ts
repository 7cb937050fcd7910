import type { Context } from 'koa'
import { requestContext } from './request-context.js'

/**
 * Sets the authenticated user of a request: `ctx.request.user`, `ctx.state.user`, and `requestContext().userId` if the user has
 * a `sub`. A middleware that calls it must list `user` in its `state` and declare its type in `MiddlewareState`.
 *
 * @example
 * import { attachUser, defineMiddleware, refuse } from 'zin'
 *
 * declare module 'zin' {
 *   interface MiddlewareState {
 *     session: { user: { readonly sub: string } }
 *   }
 * }
 *
 * const users = new Map([['session-1', 'ada']])
 *
 * export const session = defineMiddleware({
 *   key: 'session',
 *   state: ['user'],
 *   handler: (ctx, next) => {
 *     const sub = users.get(ctx.cookies.get('session') ?? '')
 *     if (sub === undefined) return refuse(ctx, 'session', 'Session')
 *     attachUser(ctx, { sub })
 *     return next()
 *   },
 * })
 */
export function attachUser(ctx: Context, user: { readonly sub?: string | number }): void {
  Object.assign(ctx.request, { user })
  ctx.state.user = user
  const request = requestContext()
  if (request !== undefined && user.sub !== undefined) request.userId = String(user.sub)
}
