import type { Context } from 'koa'
import { requestContext } from './request-context.js'

/**
 * Attaches the user that a middleware verified: `ctx.request.user`, `ctx.state.user`, and `requestContext().userId` when the user has
 * a `sub`. A middleware that calls it lists `user` in its `state` and declares the type in `MiddlewareState`.
 *
 * @example
 * attachUser(ctx, { sub: account.id, role: account.role })
 */
export function attachUser(ctx: Context, user: { readonly sub?: string | number }): void {
  Object.assign(ctx.request, { user })
  ctx.state.user = user
  const request = requestContext()
  if (request !== undefined && user.sub !== undefined) request.userId = String(user.sub)
}
