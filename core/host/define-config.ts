import type { HookMap } from '../hooks/catalogue.js'
import type { ListenerOf } from '../hooks/kinds.js'
import type { Responders } from '../http/refusal-body.js'
import type { Route } from '../http/route.js'
import type { Command } from './command.js'
import type { Migration } from './migration.js'
import type { Plugin } from './plugin.js'

/** Default deadline of a shutdown in ms. */
export const defaultDeadlineMs = 30_000

/** The configuration of an app: the default export of `zin.config.ts`. */
export interface ZinConfig {
  readonly app?: {
    /** Default: `APP_NAME`, else `zin-app`. */
    readonly name?: string
    /** Default: `HOST`, else 127.0.0.1. */
    readonly host?: string
    /** Default: `PORT`, else 7777. 0 picks a free one. */
    readonly port?: number
    /** Maximum size of a body in bytes unless a route overrides it. Default 1 MiB. */
    readonly bodyLimit?: number
    /** Number of trusted proxies in front of the app. Default 0: `X-Forwarded-*` is ignored. */
    readonly trustedProxies?: number
    /** Allowed values of the `Host` header. Default: the loopback names with the port on a loopback bind; otherwise any. */
    readonly allowedHosts?: readonly string[]
  }
  readonly shutdown?: {
    /** Deadline of the whole shutdown in ms, shared by the delay, requests in flight and the stop of all plugins. Default 30000. */
    readonly deadlineMs?: number
    /** Time between readiness 503 and closing the port, in ms; at most half of the deadline. Default 5000 on Kubernetes, else 0. */
    readonly delayMs?: number
  }
  /** Plugins of the app. Their order only breaks ties in the boot order; falsy entries are skipped. */
  readonly plugins?: readonly (Plugin | false | null | undefined | '')[]
  /** The app's own listeners. */
  readonly hooks?: { readonly [K in keyof HookMap]?: ListenerOf<HookMap[K]> }
  /** The app's own routes. */
  readonly routes?: readonly Route[]
  /** The app's own commands. */
  readonly commands?: readonly Command[]
  /** The app's own migrations, which the plugin `database` runs, in the order of their ids. */
  readonly migrations?: readonly Migration[]
  readonly responders?: Responders
}

/** Returns its argument unchanged; provides types and completion for `zin.config.ts`. */
export function defineConfig(config: ZinConfig): ZinConfig {
  return config
}
