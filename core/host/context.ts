import type { Middleware } from 'koa'
import type { SettingSpecs, SettingValues } from '../config/settings.js'
import type { HookMap } from '../hooks/catalogue.js'
import type { ListenerOf, ListenerOptions, SlotOf } from '../hooks/kinds.js'
import type { MiddlewareSpec } from '../http/middleware.js'
import type { JsonSchema, Route, RouteSpec } from '../http/route.js'
import type { ResponseSchemas, ResultOf } from '../http/route-types.js'
import type { Logger } from '../log/types.js'
import type { Resolved, ServiceRef, Uses } from '../services/ref.js'
import type { Clock } from '../util/clock.js'
import type { Disposer } from '../util/disposer.js'
import type { Command, CommandSpec, OptionSpecs } from './command.js'
import type { Migration } from './migration.js'
import type { HostView } from './view.js'

export interface PluginHooks {
  /** Listens until the plugin is disabled or the returned function is called. */
  on<N extends keyof HookMap>(name: N, listener: ListenerOf<HookMap[N]> | ListenerOptions<HookMap[N]>): Disposer
  /** The emitting end of a hook; fetch it once and guard with `.active`. */
  slot<N extends keyof HookMap>(name: N): SlotOf<HookMap[N]>
}

/**
 * What a plugin's functions get. Everything registered here is undone when the plugin is disabled.
 */
export interface PluginContext<O extends object = object, U extends Uses = Uses, S extends SettingSpecs = SettingSpecs> {
  readonly plugin: { readonly name: string; readonly version: string }
  /** Validated, with defaults. */
  readonly options: Readonly<O>
  readonly settings: SettingValues<S>
  readonly services: Resolved<U>
  readonly log: Logger
  readonly clock: Clock
  readonly host: HostView
  readonly hooks: PluginHooks
  /** Registers a route. */
  route<
    const Path extends string,
    const P extends JsonSchema | undefined = undefined,
    const Q extends JsonSchema | undefined = undefined,
    const B extends JsonSchema | undefined = undefined,
    const R extends ResponseSchemas | undefined = undefined,
    const Result extends ResultOf<R> = ResultOf<R>,
    const Use extends readonly string[] | undefined = undefined,
  >(route: RouteSpec<P, Q, B, R, Path, Result, Use>): void
  routes(routes: readonly Route[]): void
  /** Registers a middleware that routes name by its key in `use`; see `defineMiddleware`. A key has one owner. */
  middleware<const Key extends string>(middleware: MiddlewareSpec<Key>): void
  /** Adds a middleware before the route match, for all requests but probes. */
  use(middleware: Middleware): void
  command<O extends OptionSpecs>(command: CommandSpec<O>): void
  commands(commands: readonly Command[]): void
  migration(migration: Migration): void
  /** Provides a service listed in the spec's `provides`. */
  provide<T>(ref: ServiceRef<T>, service: T): void
  /** Adds a check of the configuration before `start`, which `zin config:check` runs, too: it throws what keeps the app from starting. No I/O. */
  onCheck(check: () => void): void
  /** Adds a step of the phase `start`, `ready` or `stop`; stop steps run in reversed order. */
  onStart(step: () => void | Promise<void>): void
  onReady(step: () => void | Promise<void>): void
  onStop(step: () => void | Promise<void>): void
  /**
   * Says what people should know of the plugin while it runs, in a word or two: `sqlite`, `redis`. The banner of `zin start` has it
   * beside the plugin's name. Called when it is shown; no secret, no I/O.
   */
  describe(text: () => string | undefined): void
  /** Runs `task` every `ms` from now on; runs never overlap; a failure is logged. Unref'd; ends with the plugin. */
  every(ms: number, task: () => void | Promise<void>): Disposer
}
