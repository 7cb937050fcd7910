import type { Context } from 'koa'
import { defineService } from 'zin'

/** The caller of an action, for audit logs. */
export interface Actor {
  /** `user`: the owner of a token. `key`: a holder of the shared secret. `local`: a caller on this machine. `plugin`: code of the app. */
  readonly kind: 'user' | 'key' | 'local' | 'plugin'
  /**
   * User id (`sub` of the token), key id, `local`, or name of the plugin. The key id comes from the request: a holder of the shared
   * secret can choose it.
   */
  readonly id: string
  /** Id of the device that signed a user's request. */
  readonly device?: string
  /** How the action was requested. `cli` is what the request claims; it is not verified. */
  readonly via: 'http' | 'cli' | 'plugin'
}

/** The access of a caller that passed the guard. */
export interface OpsAccess {
  /** `open`: a caller on this machine; `signed`: the shared secret; `token`: a user's token. */
  readonly kind: 'open' | 'signed' | 'token'
  /** For audit logs. */
  readonly actor: Actor
  /** Role of a token. */
  readonly role?: string
}

/** The guard of operator routes. */
export interface Ops {
  /** `open`: callers on this machine need no credentials. */
  readonly mode: 'open' | 'required'
  /**
   * The check of the middleware `ops`, for a middleware that also accepts other credentials. Throws 401, 403 or 421; afterwards `access`,
   * `actor` and `allow` hold for the request.
   */
  check(ctx: Context): Promise<OpsAccess>
  /** The access of this request; `undefined` when the route does not list `ops`. */
  access(ctx: Context): OpsAccess | undefined
  /** The caller of the current request; `undefined` outside of requests and on routes that do not list `ops`. */
  actor(): Actor | undefined
  /**
   * Whether the caller has a permission, such as `workers:deploy`. In open mode every local caller has all permissions: the
   * plugin that owns a permission must limit its use, e.g. which paths can be loaded.
   */
  allow(ctx: Context, permission: string): boolean
  /**
   * Whether the caller was given a permission by name: its token has a role that the option `permissions` lists for it. Unlike with
   * {@link Ops.allow}, neither open mode nor a permission that is not listed gives it.
   */
  grants(ctx: Context, permission: string): boolean
  /** As {@link Ops.allow}, but throws FORBIDDEN (403). */
  demand(ctx: Context, permission: string): void
}

export const opsService = defineService<Ops>('ops')
