import type { SettingReport } from '../config/settings.js'
import type { HookReport } from '../hooks/report.js'
import type { RouteInfo } from '../http/route.js'
import type { Address } from '../util/address.js'
import type { Migration } from './migration.js'
import type { HostState, PluginPhase, PluginState } from './states.js'

/** One plugin, as shown in listings. */
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
  /** Kinds of facts it reports in `collectAttention`. */
  readonly attention: readonly string[]
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
    /** Whether `NODE_ENV` is set to anything but `development`, `dev`, `local` or `test`, ignoring case. */
    readonly production: boolean
    /** Folder of the app: of `zin.config.ts`, `.env` and `package.json`. */
    readonly rootDir: string
    /** Folder of the code that runs: `rootDir`, or the folder `build` in it. Code that is given by a path is found with `codePath`. */
    readonly codeDir: string
    /** Path of the `.env` that settings are read from, whether or not it exists; absent if the host was given a complete environment. */
    readonly envFile?: string
    /** `ZIN_DATA_DIR`, absolute. Created by the first writer. */
    readonly dataDir: string
    /** The address it will bind to. */
    readonly bind: Address
    /** Allowed values of the `Host` header; absent: any. */
    readonly allowedHosts?: readonly string[]
    /** Deadline of the whole shutdown in ms; work that takes longer is cut off. */
    readonly shutdownMs: number
  }
  /** Remaining time of the shutdown in ms, shared by all plugins; slightly less than `app.shutdownMs` before it begins. */
  readonly shutdownLeftMs: number
  /** State of the host: `created`, `starting`, `ready`, `draining` or `stopped`. */
  readonly state: HostState
  /** Roles of this process, set by `zin start --roles http,worker`; a CLI command has none. */
  readonly roles: ReadonlySet<Role>
  /** The address it listens on, once it does. */
  readonly address: Address | undefined
  /** Every plugin in boot order, as `zin plugins --json` lists them. */
  plugins(): readonly PluginReport[]
  /** Every route of the enabled plugins. */
  routes(): readonly RouteInfo[]
  /** Every declared hook with its listeners in order. */
  hooks(): readonly HookReport[]
  /** Every declared setting with its value; secrets are masked. */
  settings(): readonly SettingReport[]
  /** Configuration problems that prevent plugins from starting, one line each. */
  problems(): readonly string[]
  /** What the configuration of a production app probably gets wrong, one line each. */
  warnings(): readonly string[]
  /** Migrations in graph order, then by id. */
  migrations(): readonly { readonly plugin: string; readonly migration: Migration }[]
}
