import type { Context } from 'koa'
import type { RouteInfo } from './route.js'

const matched = Symbol('zin.route')

/** Properties of the matched route that later phases use. */
export interface MatchedRoute {
  readonly info: RouteInfo
  /** Whether the path contains personal data. */
  readonly privatePath: boolean
  /** Maximum size of a body in bytes. */
  readonly bodyLimit: number
  /** Middleware key → key of the responder for its refusals. */
  readonly refusalKeys: ReadonlyMap<string, string>
}

export function setMatchedRoute(ctx: Context, route: MatchedRoute): void {
  ;(ctx as { [matched]?: MatchedRoute })[matched] = route
}

/** Returns the matched route of a request; `undefined` before the route match and for probes. */
export function matchedRoute(ctx: Context): MatchedRoute | undefined {
  return (ctx as { [matched]?: MatchedRoute })[matched]
}

/**
 * Returns a path of a request for logs, traces and hooks: that of its route as registered if the route has a `privatePath`. Call it after the
 * route match, such as when the response has ended.
 *
 * @param path the path as received, such as `ctx.path`.
 *
 * @example
 * ctx.use(async (request, next) => {
 *   const { path } = request
 *   await next()
 *   ctx.log.info({ path: reportedPath(request, path) }, 'served')
 * })
 */
export function reportedPath(ctx: Context, path: string): string {
  const route = matchedRoute(ctx)
  return route?.privatePath === true ? route.info.path : path
}
