import type { Disposer } from '../util/disposer.js'
import { httpErrors } from './errors.js'
import type { Route } from './route.js'

/** Returns what is wrong with the value of a field of a route, such as `must be a number of ms`; undefined if nothing is. */
export type RouteFieldCheck = (value: unknown, route: Route) => string | undefined

/** The fields of routes that plugins read. */
export class RouteFieldChecks {
  readonly #fields = new Map<string, { readonly plugin: string; readonly check: RouteFieldCheck }>()

  /** Throws `ZIN_ROUTE_FIELD_TAKEN`. */
  add(plugin: string, field: string, check: RouteFieldCheck): Disposer {
    const owner = this.#fields.get(field)
    if (owner !== undefined) throw httpErrors.ZIN_ROUTE_FIELD_TAKEN(plugin, field, owner.plugin)
    this.#fields.set(field, { plugin, check })
    return () => void this.#fields.delete(field)
  }

  problems(route: Route): readonly string[] {
    if (this.#fields.size === 0) return []
    return [...this.#fields].flatMap(([field, { check }]) => {
      const value = (route as unknown as Readonly<Record<string, unknown>>)[field]
      const problem = value === undefined ? undefined : check(value, route)
      return problem === undefined ? [] : [`its "${field}" ${problem}`]
    })
  }
}
