import { checkedValue, definePlugin, importPackage } from 'zin'
import { corsErrors } from './errors.js'
import { corsMiddleware } from './middleware.js'
import { corsOptions, type RouteCors } from './options.js'
import { type Policy, policyOf, policyProblem } from './policy.js'
import { RoutePolicies, routeCorsProblem } from './route-field.js'

export type { CorsOptions, RouteCors } from './options.js'

declare module 'zin' {
  interface RouteFields {
    /** Who may call the route from another origin, instead of the options of the plugin cors. False: no one. */
    readonly cors?: RouteCors
  }
}

/** Lets pages of other origins call the app (CORS). */
export const cors = definePlugin({
  name: 'cors',
  version: '1.0.0',
  description: 'Calls from pages of other origins (CORS), also to single routes',
  packages: { '@koa/cors': {} },
  errors: corsErrors,
  options: corsOptions,
  async setup(ctx) {
    const { options, host, log } = ctx
    const { default: koaCors } = await importPackage('@koa/cors', () => import('@koa/cors'))
    const ofApp = checkedValue<Policy>(
      ctx,
      () => checked(options),
      () => policyOf({ origins: [] }),
    )
    const ofRoutes = new RoutePolicies()
    ctx.routeField('cors', routeCorsProblem)
    ctx.wrap(
      corsMiddleware({
        koaCors,
        exposedHeaders: ['Date', 'x-request-id', ...options.exposedHeaders],
        maxAgeSeconds: options.maxAgeSeconds,
        policyOf: (request, method) => {
          const field = ctx.routeOf(request, method)?.cors
          return field === undefined ? ofApp : field === false ? undefined : ofRoutes.of(field)
        },
        onRefused: host.app.production
          ? undefined
          : (origin) => log.info({ origin }, `pages of ${origin} may not call this app; if they should, add it to cors({ origins })`),
      }),
    )
    ctx.describe(() => (ofApp.any ? 'any origin' : undefined))
  },
})

function checked(options: { readonly origins: string | readonly string[]; readonly credentials: boolean }): Policy {
  const problem = policyProblem(options)
  if (problem !== undefined) throw corsErrors.CORS_INVALID(problem)
  return policyOf(options)
}
