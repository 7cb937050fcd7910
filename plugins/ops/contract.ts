import type { Context } from 'koa'
import { defineService } from 'zin'

/** Who asks for something, as audit logs note it. */
export interface Actor {
  /** `user`: the owner of a token. `key`: a holder of the shared secret. `local`: somebody on this machine. `plugin`: code of the app. */
  readonly kind: 'user' | 'key' | 'local' | 'plugin'
  /**
   * User id (`sub` of the token), key id, `local`, or name of the plugin. A key id is the one that the request names: whoever has the
   * shared secret can choose it.
   */
  readonly id: string
  /** Id of the device that signed a user's request. */
  readonly device?: string
  /** How it was asked for. Whether a request is the CLI's, it says itself. */
  readonly via: 'http' | 'cli' | 'plugin'
}

/** Who passed the guard. */
export interface OpsAccess {
  /** `open`: somebody on this machine; `signed`: the shared secret; `token`: a user's token. */
  readonly kind: 'open' | 'signed' | 'token'
  /** For audit logs. */
  readonly actor: Actor
  /** Role of a token. */
  readonly role?: string
}

/** The guard of routes that operate the app. */
export interface Ops {
  /** `open`: callers on this machine need no credentials. */
  readonly mode: 'open' | 'required'
  /** Who makes this request; `undefined` when the route does not list `ops`. */
  access(ctx: Context): OpsAccess | undefined
  /** Who makes the request that the calling code runs for; `undefined` outside of requests and on routes that do not list `ops`. */
  actor(): Actor | undefined
  /**
   * Whether the caller has a permission beyond the guard itself, such as `workers:deploy`. In open mode everybody on this
   * machine has all of them: what they can do with one, e.g. which paths can be loaded, is for its owner to bound.
   */
  allow(ctx: Context, permission: string): boolean
  /** As {@link Ops.allow}, but throws FORBIDDEN (403). */
  demand(ctx: Context, permission: string): void
}

export const opsService = defineService<Ops>('ops')
