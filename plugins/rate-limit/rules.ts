import { joinErrors, type RouteInfo, type SecurityScheme } from 'zin'
import { rateLimitErrors } from './errors.js'
import { type LimitBy, type RateLimitOptions, rateLimitOptions } from './options.js'

/** Where a limit is applied: to all routes before or after authentication, or to routes that list its key. */
export type LimitPlace = 'before' | 'after' | 'route'

/** One limit. */
export interface Rule {
  /** Part of the middleware key, of the headers and of the keys in the store. */
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly by: LimitBy
  readonly place: LimitPlace
}

/** The name of the limit that the options have at the top level. */
const topName = 'default'

export const middlewareKey = (name: string): `rateLimit:${string}` => `rateLimit:${name}`

/** Returns the limits of the options. Pure. */
export function rulesOf({ limit, windowMs, by, counted, limits }: RateLimitOptions): readonly Rule[] {
  const top = limit === undefined ? [] : [{ name: topName, limit, windowMs, by, place: counted ?? placeOf(by) }]
  const named = Object.entries(limits).map(([name, rule]): Rule => {
    const who = rule.by ?? 'address'
    const place = rule.everywhere === true ? (rule.counted ?? placeOf(who)) : 'route'
    return { name, limit: rule.limit, windowMs: rule.windowMs ?? rateLimitOptions.defaults.windowMs, by: who, place }
  })
  return [...top, ...named]
}

/** Throws RATE_LIMIT_OPTIONS_INVALID for options that do nothing or cannot work. */
export function checkRules(options: RateLimitOptions, hasKv: boolean): void {
  const rules = rulesOf(options)
  const fault = (what: string): Error => rateLimitErrors.RATE_LIMIT_OPTIONS_INVALID(what)
  if (rules.length === 0) throw fault('there is no limit; set one, such as rateLimit({ limit: 100, windowMs: 60_000 })')
  if (options.limit === undefined && options.counted !== undefined) throw fault('"counted" needs "limit"')
  if (options.limits[topName] !== undefined) throw fault(`"limits" cannot have the name "${topName}", which the top-level limit has`)
  for (const [name, { everywhere, counted }] of Object.entries(options.limits))
    if (counted !== undefined && everywhere !== true)
      throw fault(`"limits.${name}.counted" needs "everywhere: true"; on a route, the place in "use" decides`)
  for (const { name, by, place } of rules)
    if (place === 'before' && by !== 'address' && typeof by !== 'function')
      throw fault(`the limit "${name}" is by ${by}, who is unknown before authentication; use counted: 'after'`)
  if (options.store === 'kv' && !hasKv) throw fault(`store: 'kv' needs the plugin kv; add kv() to plugins in zin.config.ts`)
}

/**
 * Whether a guard of the route requires the key in this header, whatever else a client sends, and runs before the request is counted. Other
 * middleware, and a guard that accepts other credentials as well, let a client invent keys.
 */
export function checksKey({ use, credentials }: Pick<RouteInfo, 'use' | 'credentials'>, { name, place }: Rule, keyHeader: string): boolean {
  const before = place === 'route' ? use.slice(0, use.indexOf(middlewareKey(name))) : use
  const isKey = (scheme: SecurityScheme): boolean =>
    (scheme.type === 'apiKey' && scheme.in === 'header' && scheme.name.toLowerCase() === keyHeader) ||
    (scheme.type === 'http' && keyHeader === 'authorization')
  return before.some((key) => credentials[key]?.every((required) => Object.values(required).some(isKey)))
}

/**
 * Throws RATE_LIMIT_OPTIONS_INVALID for routes that list a limit by key, and before it no guard that requires the key: their callers could only
 * be counted by address.
 */
export function checkRoutes(routes: readonly RouteInfo[], rules: readonly Rule[], keyHeader: string): void {
  const faults = rules
    .filter(({ by, place }) => by === 'key' && place === 'route')
    .flatMap((rule) =>
      routes
        .filter((route) => route.use.includes(middlewareKey(rule.name)) && !checksKey(route, rule, keyHeader))
        .map((route) => ({ rule, route })),
    )
    .map(({ route: { method, path, plugin }, rule: { name } }) => {
      const fix = `list a middleware with security: [{ key: { type: 'apiKey', in: 'header', name: '${keyHeader}' } }] before it, or limit by address`
      return rateLimitErrors.RATE_LIMIT_OPTIONS_INVALID(
        `${method} ${path} of plugin "${plugin}" lists "${middlewareKey(name)}", which is by key, and no guard before it requires the key in ${keyHeader}; ${fix}`,
      )
    })
  if (faults.length > 0) throw joinErrors(faults)
}

const placeOf = (by: LimitBy): 'before' | 'after' => (by === 'address' || typeof by === 'function' ? 'before' : 'after')
