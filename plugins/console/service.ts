import type { Context } from 'koa'
import type { HookReport, HostView, PluginReport, RouteInfo, SettingReport } from 'zin'
import type { Ops } from 'zin/plugins/ops'
import type { QueueMonitor } from 'zin/plugins/queue-monitor'
import { type Asset, type Assets, loadAssets } from './assets.js'
import type { ConsoleAbility } from './contract.js'
import type { LoadedModule } from './contributions.js'
import { consoleErrors } from './errors.js'
import type { ConsoleOptions } from './options.js'

/** The data the page needs before it can render. */
export interface BootReport {
  readonly app: { readonly name: string; readonly environment: string; readonly production: boolean; readonly region?: string }
  readonly caller: { readonly kind: string; readonly id: string }
  readonly may: Readonly<Record<ConsoleAbility, boolean>>
  readonly readOnly: boolean
  readonly refreshInterval: number
  readonly plugins: readonly string[]
  readonly modules: readonly { readonly plugin: string; readonly url: string }[]
}

export interface ConsoleParts {
  readonly host: HostView
  readonly options: ConsoleOptions
  readonly ops: () => Ops
  readonly monitor: () => QueueMonitor
}

const monitorPermissions = ['read', 'write', 'admin', 'payload:read'] as const

/** Provides the console's files and its data about the app. */
export class ConsoleService {
  readonly #parts: ConsoleParts
  #modules: readonly LoadedModule[] = []
  #assets: Promise<Assets> | undefined

  constructor(parts: ConsoleParts) {
    this.#parts = parts
  }

  setModules(modules: readonly LoadedModule[]): void {
    this.#modules = modules
  }

  /** Returns the HTML page. Throws CONSOLE_NOT_BUILT. */
  async index(): Promise<Asset> {
    return (await this.#loaded()).index
  }

  /** Returns a file of the page or the module of a plugin. Throws CONSOLE_FILE_NOT_FOUND. */
  async file(name: string): Promise<Asset> {
    const found = (await this.#loaded()).file(name) ?? this.#modules.find((module) => module.name === name)?.asset
    if (found === undefined) throw consoleErrors.CONSOLE_FILE_NOT_FOUND(name)
    return found
  }

  boot(ctx: Context): BootReport {
    const { host, monitor, ops, options } = this.#parts
    const { environment, name, production } = host.app
    const { actor, may } = monitor().scope(ctx)
    const operate = ops().access(ctx) !== undefined
    const allows = (permission: string): boolean => {
      const known = monitorPermissions.find((one) => one === permission)
      return known === undefined ? ops().allow(ctx, permission) : may(known)
    }
    return {
      app: { name, environment, production, ...(options.region === undefined ? {} : { region: options.region }) },
      caller: { kind: actor.kind, id: actor.id },
      may: {
        write: may('write'),
        admin: may('admin'),
        payload: may('payload:read'),
        operate,
        subjects: operate && allows('compliance:subjects'),
      },
      readOnly: options.readOnly,
      refreshInterval: options.refreshInterval,
      plugins: host
        .plugins()
        .filter(({ state }) => state === 'enabled')
        .map((plugin) => plugin.name),
      modules: this.#modules
        .filter(({ permission }) => permission === undefined || allows(permission))
        .map((module) => ({ plugin: module.plugin, url: `/console/assets/${module.name}` })),
    }
  }

  plugins(): {
    readonly plugins: readonly PluginReport[]
    readonly hooks: readonly HookReport[]
    readonly routes: readonly Omit<RouteInfo, 'credentials'>[]
    readonly settings: readonly SettingReport[]
  } {
    const { host } = this.#parts
    return {
      plugins: host.plugins(),
      hooks: host.hooks(),
      routes: host.routes().map(({ credentials: _, ...route }) => route),
      settings: host.settings(),
    }
  }

  /** A failure is not cached: the build may still be running. */
  #loaded(): Promise<Assets> {
    this.#assets ??= loadAssets().catch((error: unknown) => {
      this.#assets = undefined
      throw error
    })
    return this.#assets
  }
}
