import type { OptionsDeclaration } from '../config/options.js'
import type { SettingSpecs, SettingValues } from '../config/settings.js'
import type { ErrorTable } from '../errors.js'
import type { HookSpec } from '../hooks/kinds.js'
import type { Route } from '../http/route.js'
import type { ServiceRef, Uses } from '../services/ref.js'
import type { PluginContext } from './context.js'
import type { PackageUses } from './packages.js'
import type { PluginPhase } from './states.js'

type MaybePromise<T> = T | Promise<T>

/** The declaration of a plugin. */
export interface PluginSpec<O extends object, U extends Uses, S extends SettingSpecs> {
  /** kebab-case, such as `slow-jobs`; unique in an app. */
  readonly name: string
  /** major.minor.patch; the version ranges in `dependencies` of other plugins refer to it. */
  readonly version: string
  /** Shown by `zin plugins --json`. */
  readonly author?: string
  /** One line for `zin plugins`: what it adds to an app. */
  readonly description?: string
  /** Plugins that must be enabled before this one, with an optional range: `database` or `database@^1.0.0`. */
  readonly dependencies?: readonly string[]
  /**
   * Services it uses, by their key in `ctx.services`. The plugin that provides a service boots first; if none does, the app does not
   * start, unless the reference is `optional`.
   */
  readonly uses?: U
  /**
   * Plugins that, if enabled, start after this one and stop before it, although they do not depend on it. For a plugin that transforms or
   * records what they do until they have stopped. Use their services with `later`.
   */
  readonly before?: readonly string[]
  /** Services it provides to other plugins; `setup` calls `ctx.provide` for each. */
  // biome-ignore lint/suspicious/noExplicitAny: refs of any shape
  readonly provides?: readonly ServiceRef<any>[]
  /**
   * Methods that it adds to the contexts of the plugins that are set up after it, with what each does, as one line; `setup` calls
   * `ctx.addMethod` for each. Their types are added to `PluginMethods`.
   */
  readonly methods?: Readonly<Record<string, string>>
  /** Hooks it fires, by name. Their types are added to `HookMap`. */
  readonly hooks?: Readonly<Record<string, HookSpec>>
  /**
   * Kinds of facts it reports in `collectAttention`, in kebab-case, with when each is listed, as one line. If the plugin cannot be asked, these
   * kinds are named as not checked.
   */
  readonly attention?: Readonly<Record<string, string>>
  /** Environment settings it reads, created with `defineSettings`. */
  readonly settings?: S
  /** Defaults of its settings under `zin dev`, if they differ: `{ MAIL_TRANSPORT: 'log' }`. */
  readonly developmentDefaults?: Partial<SettingValues<NoInfer<S>>>
  /** Options of the factory call, created with `defineOptions`. */
  readonly options?: OptionsDeclaration<O>
  /**
   * npm packages that it needs and that only apps with this plugin install. The app does not start without those that it needs; `zin add`
   * installs them. Import them in `setup` or later, because apps without the plugin load its files, too.
   */
  readonly packages?: PackageUses<NoInfer<O>, SettingValues<NoInfer<S>>>
  /** Errors it throws, created with `defineErrors`. They appear in the OpenAPI document and in its README. */
  readonly errors?: ErrorTable
  /** `continue`: if this plugin fails during the boot, the app starts without it and its dependents. Default `abort`. */
  readonly onBootFailure?: 'abort' | 'continue'
  /** Deadlines of its phases in ms. Defaults: setup 10000, start and ready 30000, stop 10000. The app's shutdown has a separate deadline. */
  readonly deadlines?: Readonly<Partial<Record<PluginPhase, number>>>
  /** Routes that need nothing of `ctx`, created with `defineRoute`; `setup` may add others. */
  readonly routes?: readonly Route[]
  /**
   * Registers routes, listeners, services and commands. No I/O: CLI commands run it, too. A plugin that only declares something, such as `routes`,
   * `settings` or `hooks`, needs none.
   */
  setup?(ctx: PluginContext<O, U, S>): MaybePromise<void>
  /** Opens connections and starts work. */
  start?(ctx: PluginContext<O, U, S>): MaybePromise<void>
  /** Runs after every plugin has started, before the port opens. CLI commands do not run it. */
  ready?(ctx: PluginContext<O, U, S>): MaybePromise<void>
  /** Stops what `start` started. Runs before the plugin's registrations are undone. */
  stop?(ctx: PluginContext<O, U, S>): MaybePromise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a spec of any shape
export type AnyPluginSpec = PluginSpec<any, any, any>

const brand = Symbol.for('zin.plugin')

/** A plugin with its options: an entry of `plugins` in `zin.config.ts`. */
export interface Plugin {
  readonly spec: AnyPluginSpec
  /** As passed to the factory; the host merges the defaults. */
  readonly options: Readonly<Record<string, unknown>>
  readonly onBootFailure: 'abort' | 'continue'
  /** False for {@link registerOnly}: the plugin is registered but not enabled. */
  readonly enabled: boolean
}

/** Options of the factory call; `onBootFailure` overrides that of the plugin. */
export type FactoryOptions<O> = { readonly [K in keyof O]?: O[K] } & { readonly onBootFailure?: 'abort' | 'continue' }

export interface PluginFactory<O extends object = object> {
  (options?: FactoryOptions<O>): Plugin
  readonly spec: AnyPluginSpec
}

/**
 * Declares a plugin. Types of options, settings and services are inferred; do not pass type arguments.
 *
 * @example
 * export const hello = definePlugin({
 *   name: 'hello', version: '1.0.0',
 *   options: defineOptions(Type.Object({ who: Type.String({ default: 'world', description: 'Whom to greet' }) })),
 *   setup({ options, route }) {
 *     route({ method: 'GET', path: '/hello', summary: 'Greets', handler: () => ({ hello: options.who }) })
 *   },
 * })
 */
export function definePlugin<
  O extends object = object,
  U extends Uses = Record<never, never>,
  const S extends SettingSpecs = Record<never, never>,
>(spec: PluginSpec<O, U, S>): PluginFactory<O> {
  const factory = (given: FactoryOptions<O> = {}): Plugin => {
    const { onBootFailure = spec.onBootFailure ?? 'abort', ...options } = given
    const plugin: Plugin = { spec, options, onBootFailure, enabled: true }
    return Object.defineProperty(plugin, brand, { value: true })
  }
  return Object.assign(factory, { spec })
}

/** Registers a plugin without enabling it; `host.enable(name)` enables it later. */
export function registerOnly(plugin: Plugin): Plugin {
  return Object.defineProperty({ ...plugin, enabled: false }, brand, { value: true })
}

/** Whether a value was created by a plugin factory of this or another copy of the package. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && brand in value
}
