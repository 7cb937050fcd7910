import { defineMiddleware, type RouteMiddleware } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import { isSameSecret } from 'zin/signing'
import { autoscaleErrors } from './errors.js'

/** Least length of the key in production, in bytes. */
export const leastKeyBytes = 32

/** Accepts AUTOSCALE_KEY in the header `x-api-key`, and without the header what the guard `ops` accepts. */
export function scalerMiddleware(key: string, ops: () => Ops): RouteMiddleware {
  return defineMiddleware({
    key: 'scaler',
    security: [{ scalerKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } }],
    handler: async (ctx, next) => {
      const { 'x-api-key': given } = ctx.req.headers
      if (given === undefined) await ops().check(ctx)
      else if (typeof given !== 'string' || !isSameSecret(given, key)) throw autoscaleErrors.AUTOSCALE_UNAUTHORIZED()
      ctx.set('Cache-Control', 'no-store')
      return next()
    },
  })
}
