import type { Context } from 'koa'
import type { RouteInfo } from './route.js'

const matched = Symbol('zin.route')

/** Properties of the matched route that later phases use. */
export interface MatchedRoute {
  readonly info: RouteInfo
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
