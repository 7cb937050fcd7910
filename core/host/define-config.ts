import type { HookMap } from '../hooks/catalogue.js'
import type { ListenerOf } from '../hooks/kinds.js'
import type { Responders } from '../http/refusal-body.js'
import type { Route } from '../http/route.js'
import type { Plugin } from './plugin.js'

/** Longest time of a shutdown in ms, unless the app says otherwise. */
export const defaultDeadlineMs = 30_000

/** The app: what `zin.config.ts` exports by default. */
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
    /** Trusted proxies in front of the app, counted from it. Default 0: `X-Forwarded-*` is ignored. */
    readonly trustedProxies?: number
    /** Values the `Host` header may have. Default: on a loopback bind the loopback names with the port; else anything. */
    readonly allowedHosts?: readonly string[]
  }
  readonly shutdown?: {
    /** Longest time of the whole shutdown in ms: the delay, requests in flight and the stop of every plugin share it. Default 30000. */
    readonly deadlineMs?: number
    /** Time between readiness 503 and closing the port, in ms; at most half of the deadline. Default 5000 on Kubernetes, else 0. */
    readonly delayMs?: number
  }
  /** Order does not matter except as a tie-break; falsy entries are skipped. */
  readonly plugins?: readonly (Plugin | false | null | undefined | '')[]
  /** The app's own listeners. */
  readonly hooks?: { readonly [K in keyof HookMap]?: ListenerOf<HookMap[K]> }
  /** The app's own routes. */
  readonly routes?: readonly Route[]
  readonly responders?: Responders
}

/** Types a configuration; returns its argument unchanged. */
export function defineConfig(config: ZinConfig): ZinConfig {
  return config
}
