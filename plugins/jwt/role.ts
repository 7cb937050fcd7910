import type { Context } from 'koa'
import { defineMiddleware, refuse } from 'zin'
import type { Claims } from './contract.js'
import { jwtErrors } from './errors.js'

/**
 * A guard for the `use` of a route, after `auth` or another middleware that sets the user: passes users whose claim `role` is one of these
 * names, exactly. Others get 403 `ROLE_REQUIRED`, and a request without a user 401. The claim is that of the login or refresh that made the
 * token, so a changed role applies from the next one.
 *
 * @example
 * defineRoute({
 *   method: 'DELETE', path: '/products/:id', summary: 'Deletes a product',
 *   use: ['auth', role('admin', 'editor')],
 *   handler: ({ request }) => ({ by: request.user.email }),
 * })
 */
export function role<const Name extends string>(...names: readonly [Name, ...Name[]]) {
  const wanted = new Set<unknown>(names)
  if (names.length === 0 || names.some((name: unknown) => typeof name !== 'string' || name === ''))
    throw new TypeError("role() needs one or more names of roles, such as role('admin')")
  return defineMiddleware({
    key: 'role',
    handler: (ctx, next) => {
      const { user } = (ctx as Context).state as { readonly user?: Partial<Claims> }
      if (user === undefined) return refuse(ctx as Context, 'role')
      if (!wanted.has(user.role)) throw jwtErrors.ROLE_REQUIRED(names)
      return next()
    },
  })
}
