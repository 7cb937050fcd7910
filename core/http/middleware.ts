import type { Middleware, Next, ParameterizedContext } from 'koa'

/**
 * The fields that each middleware sets on `ctx.state`, by middleware key. It types `ctx.state` in the handlers of routes that list the key
 * in `use`, and `ctx.request.user` if a field is named `user`. A plugin extends it with its own middleware:
 *
 * @example
 * declare module 'zin' {
 *   interface MiddlewareState {
 *     tenant: { tenant: { readonly id: string } }
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: plugins add to it
export interface MiddlewareState {}

/** An entry of the `use` of a route: the key of a registered middleware, or a middleware itself. */
export type UseEntry = string | RouteMiddleware

/**
 * The type of `ctx.state` after the middleware with these keys. A key that is missing from {@link MiddlewareState} may set anything. Without
 * keys, and for a list that is not known at compile time, it is `any`, because global middleware may have set something. A middleware that is
 * listed itself adds the state of its key, if that is declared.
 */
export type StateOf<Use> = Use extends readonly (infer Entry)[]
  ? [Entry] extends [never]
    ? AnyState
    : string extends Entry
      ? AnyState
      : Merged<Entry>
  : AnyState

// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyState = any

// biome-ignore lint/suspicious/noExplicitAny: distributes over the keys
type Merged<Key> = (Key extends any ? (state: StateOfKey<Key>) => void : never) extends (state: infer All) => void ? All : never

type StateOfKey<Key> = Key extends keyof MiddlewareState
  ? MiddlewareState[Key]
  : Key extends RouteMiddleware
    ? StateOfListed<Key['key']>
    : UndeclaredState

// biome-ignore lint/suspicious/noExplicitAny: a registered middleware may set anything
type UndeclaredState = Record<string, any>

type StateOfListed<Key> = Key extends keyof MiddlewareState ? MiddlewareState[Key] : unknown

/**
 * When a middleware of `ctx.use` runs: `limits` before anything that may be expensive, for what counts and refuses requests; `global` before the
 * route match; `guarded` once the middleware of the route has accepted the request, before its body is read; `parsed` once it has been
 * read, when `ctx.input` holds what was sent, before that is validated. The last two run only for requests that match a route. Probes are
 * served without any of them.
 */
export type UsePhase = 'limits' | 'global' | 'guarded' | 'parsed'

/** The context of a middleware: its own state may not be set yet. */
export type MiddlewareContext<Key extends string> = ParameterizedContext<Partial<StateOf<readonly [Key]>>>

/** The OpenAPI description of a credential: a Security Scheme Object of OpenAPI 3.1. */
export type SecurityScheme = { readonly description?: string } & (
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly name: string }
  | { readonly type: 'mutualTLS' }
  | { readonly type: 'oauth2'; readonly flows: Readonly<Record<string, unknown>> }
  | { readonly type: 'openIdConnect'; readonly openIdConnectUrl: string }
)

/** Credentials that are required together, by OpenAPI scheme name. */
export type SecurityRequirement = Readonly<Record<string, SecurityScheme>>

/** A middleware that routes reference by its key, or list themselves. */
export interface MiddlewareSpec<Key extends string = string> {
  /** Letters, digits, `-`, `_`, `.` and `:`, starting with a letter. A key has one owner per app. */
  readonly key: Key
  /** Runs after the route match and before the body is read. The request continues only if it calls `next()`. */
  handler(ctx: MiddlewareContext<Key>, next: Next): unknown
  /** The credentials it requires, for OpenAPI; any one entry of the list is sufficient. Default: none are documented. */
  readonly security?: readonly SecurityRequirement[]
  /**
   * Fields of `ctx.state` that are set whenever it calls `next()`. If one is missing, the request fails with 500
   * `MIDDLEWARE_STATE_MISSING` before the handler.
   */
  readonly state?: readonly (keyof StateOf<readonly [Key]> & string)[]
  /**
   * Key of a middleware whose check this one fully includes. On routes that list that key directly before this one, only this one
   * runs. It must set all of the other's `state`. With another key in between, both run, so that no middleware runs for an
   * unchecked request.
   */
  readonly replaces?: string
}

/** A declared middleware with any key. */
export interface RouteMiddleware {
  readonly key: string
  readonly handler: Middleware
  readonly security?: readonly SecurityRequirement[]
  readonly state?: readonly string[]
  readonly replaces?: string
}

/**
 * Declares a middleware for `ctx.middleware`, or for the `use` of a route directly. An invalid declaration stops the boot with
 * `ZIN_MIDDLEWARE_INVALID`.
 *
 * @example
 * import { defineMiddleware, refuse } from 'zin'
 *
 * declare module 'zin' {
 *   interface MiddlewareState {
 *     tenant: { tenant: { readonly id: string } }
 *   }
 * }
 *
 * const idByKey = new Map([['key-of-acme', 'acme']])
 *
 * export const tenant = defineMiddleware({
 *   key: 'tenant',
 *   security: [{ tenantKey: { type: 'apiKey', in: 'header', name: 'x-tenant-key' } }],
 *   state: ['tenant'],
 *   handler: (ctx, next) => {
 *     const id = idByKey.get(ctx.get('x-tenant-key'))
 *     if (id === undefined) return refuse(ctx, 'tenant', 'Tenant')
 *     ctx.state.tenant = { id }
 *     return next()
 *   },
 * })
 *
 * // In a plugin: setup({ middleware }) { middleware(tenant) }
 * // On a route:  use: ['tenant'], handler: (ctx) => ({ tenant: ctx.state.tenant.id })
 * // Or without registering it: use: [tenant]
 */
export function defineMiddleware<const Key extends string>(middleware: MiddlewareSpec<Key>): RouteMiddleware & { readonly key: Key } {
  return middleware as RouteMiddleware & { readonly key: Key }
}

/** The key of an entry of `use`. */
export function keyOfEntry(entry: UseEntry): string {
  return typeof entry === 'string' ? entry : entry.key
}
