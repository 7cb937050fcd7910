import type { SettingReport } from '../config/settings.js'
import type { HookReport } from '../hooks/report.js'
import type { RouteInfo } from '../http/route.js'
import type { Address } from '../util/address.js'
import type { Migration } from './migration.js'
import type { HostState, PluginPhase, PluginState } from './states.js'

/** One plugin as listings show it. */
export interface PluginReport {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly author: string
  readonly state: PluginState
  /** Names of the plugins it must come after. */
  readonly after: readonly string[]
  /** Its position in the boot order, explained: `after database (uses database)`. */
  readonly why: readonly string[]
  readonly level: number
  /** Milliseconds spent per phase so far. */
  readonly timings: Readonly<Partial<Record<PluginPhase, number>>>
  readonly provides: readonly string[]
  /** Result of the plugin's `describe`: `sqlite`. */
  readonly detail?: string
  readonly error?: string
}

export type Role = 'http' | 'worker'

/** Read-only view of the host for plugins. */
export interface HostView {
  /** The app and its environment. */
  readonly app: {
    readonly name: string
    /** `NODE_ENV` as given, default `development`. For display only: use `production` to make decisions. */
    readonly environment: string
    /** Whether `NODE_ENV` is anything but `development`, `dev`, `local`, `test` or nothing, in any case. */
    readonly production: boolean
    /** Folder of `zin.config.ts`. */
    readonly rootDir: string
    /** Path of the `.env` that settings come from, whether it exists or not; absent when the host was given its whole environment. */
    readonly envFile?: string
    /** `ZIN_DATA_DIR`, absolute. Created by the first writer. */
    readonly dataDir: string
    /** The address it will bind to. */
    readonly bind: Address
    /** Values that the `Host` header of a request may have; absent: any. */
    readonly allowedHosts?: readonly string[]
    /** Longest time of the whole shutdown in ms; work that takes longer is cut. */
    readonly shutdownMs: number
  }
  /** What is left of the shutdown's time in ms, for all plugins together; nearly `app.shutdownMs` before it begins. */
  readonly shutdownLeftMs: number
  /** State of the host: `created`, `starting`, `ready`, `draining` or `stopped`. */
  readonly state: HostState
  /** What this process does. `zin start --roles http,worker`; a CLI command has none. */
  readonly roles: ReadonlySet<Role>
  /** Where it listens, once it does. */
  readonly address: Address | undefined
  /** Every plugin in boot order, as `zin plugins --json` lists them. */
  plugins(): readonly PluginReport[]
  /** Every route of the enabled plugins. */
  routes(): readonly RouteInfo[]
  /** Every declared hook with its listeners in order. */
  hooks(): readonly HookReport[]
  /** Every declared setting with its value, masked where it is a secret. */
  settings(): readonly SettingReport[]
  /** Problems of the configuration that prevent plugins from starting, one line each. */
  problems(): readonly string[]
  /** Migrations in graph order, then by id. */
  migrations(): readonly { readonly plugin: string; readonly migration: Migration }[]
}
