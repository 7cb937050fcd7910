import type { Context } from 'koa'
import type { Route, RouteInfo } from './route.js'
import type { Serializer } from './serializers.js'

const matched = Symbol('zin.route')

/** Properties of the matched route that later phases use. */
export interface MatchedRoute {
  readonly route: Route
  readonly info: RouteInfo
  /** Whether the path contains personal data. */
  readonly privatePath: boolean
  /** Maximum size of a body in bytes. */
  readonly bodyLimit: number
  /** Middleware key → key of the responder for its refusals. */
  readonly refusalKeys: ReadonlyMap<string, string>
  /** Writes JSON by the schemas of its response. */
  readonly serialize: Serializer | undefined
}

export function setMatchedRoute(ctx: Context, route: MatchedRoute): void {
  ;(ctx as { [matched]?: MatchedRoute })[matched] = route
}

/** Returns the matched route of a request; `undefined` before the route match and for probes. */
export function matchedRoute(ctx: Context): MatchedRoute | undefined {
  return (ctx as { [matched]?: MatchedRoute })[matched]
}

const privateBeginnings = Symbol('zin.privateBeginnings')

/**
 * Sets what the private paths of an app begin with, on the prototype of its contexts: for requests that match no route, because the method or
 * the path is wrong.
 *
 * @param paths of routes, such as `/subjects/:id`.
 */
export function setPrivatePaths(prototype: object, paths: readonly string[]): void {
  const beginnings = paths.map((path) => path.replace(/[:*].*$/s, ''))
  ;(prototype as { [privateBeginnings]?: readonly string[] })[privateBeginnings] = [...new Set(beginnings)]
}

/** Returns what a path begins with if it may be a private one, also if it is written in an unusual way. */
function privateBeginning(ctx: Context, path: string): string | undefined {
  const beginnings = (ctx as { [privateBeginnings]?: readonly string[] })[privateBeginnings]
  if (beginnings === undefined) return undefined
  const plain = path
    .replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    .replace(/[/\\]+/g, '/')
    .toLowerCase()
  return beginnings.find((beginning) => plain.includes(beginning.toLowerCase()))
}

/**
 * Returns a path of a request for logs, traces and hooks: that of its route as registered if the route has a `privatePath`, and
 * only the beginning of such a path if no route matched. Call it after the route match, such as when the response has ended.
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
  if (route !== undefined) return route.privatePath ? route.info.path : path
  const beginning = privateBeginning(ctx, path)
  return beginning === undefined ? path : `${beginning}…`
}
