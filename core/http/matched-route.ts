import type { Context } from 'koa'
import type { RouteInfo } from './route.js'

const matched = Symbol('zin.route')

/** What the route of a request decides for those that serve it. */
export interface MatchedRoute {
  readonly info: RouteInfo
  /** Most bytes of a body. */
  readonly bodyLimit: number
  /** Middleware key → key under which that middleware refuses. */
  readonly refusalKeys: ReadonlyMap<string, string>
}

export function setMatchedRoute(ctx: Context, route: MatchedRoute): void {
  ;(ctx as { [matched]?: MatchedRoute })[matched] = route
}

/** The route of a request; `undefined` before the route match and for probes. */
export function matchedRoute(ctx: Context): MatchedRoute | undefined {
  return (ctx as { [matched]?: MatchedRoute })[matched]
}
