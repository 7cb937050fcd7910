import type { Context } from 'koa'
import { defineService } from 'zin'

/** Who passed the guard. */
export interface OpsAccess {
  /** `open`: somebody on this machine; `signed`: the shared secret; `token`: a user's token. */
  readonly kind: 'open' | 'signed' | 'token'
  /** For audit logs: `local`, `key:<key id>` or `user:<sub>`. */
  readonly actor: string
  /** Role of a token. */
  readonly role?: string
}

/** The guard of routes that operate the app. */
export interface Ops {
  /** `open`: callers on this machine need no credentials. */
  readonly mode: 'open' | 'required'
  /** Who makes this request; `undefined` when the route does not list `ops`. */
  access(ctx: Context): OpsAccess | undefined
  /**
   * Whether the caller has a permission beyond the guard itself, such as `workers:deploy`. In open mode everybody on this
   * machine has all of them: what they can do with one, e.g. which paths can be loaded, is for its owner to bound.
   */
  allow(ctx: Context, permission: string): boolean
  /** As {@link Ops.allow}, but throws FORBIDDEN (403). */
  demand(ctx: Context, permission: string): void
}

export const opsService = defineService<Ops>('ops')
