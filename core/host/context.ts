import type { Context, Middleware } from 'koa'
import type { SettingSpecs, SettingValues } from '../config/settings.js'
import type { HookMap } from '../hooks/catalogue.js'
import type { ListenerOf, ListenerOptions, SlotOf } from '../hooks/kinds.js'
import type { ActionFacts, NewManagementAction } from '../hooks/manage.js'
import type { BodyDecoder } from '../http/body.js'
import type { FormReader } from '../http/form-reader.js'
import type { MiddlewareSpec, UseEntry, UsePhase } from '../http/middleware.js'
import type { BodyType, JsonSchema, Route, RouteFields, RouteSpec } from '../http/route.js'
import type { RouteFieldCheck } from '../http/route-fields.js'
import type { ResponseSchemas, ResultOf } from '../http/route-types.js'
import type { FileFields } from '../http/upload.js'
import type { LogFields, Logger } from '../log/types.js'
import type { Resolved, ServiceRef, Uses } from '../services/ref.js'
import type { Clock } from '../util/clock.js'
import type { Disposer } from '../util/disposer.js'
import type { Command, CommandSpec, OptionSpecs } from './command.js'
import type { Migration } from './migration.js'
import type { HostView } from './view.js'

export interface PluginHooks {
  /** Registers a listener until the plugin is disabled or the returned function is called. */
  on<N extends keyof HookMap>(name: N, listener: ListenerOf<HookMap[N]> | ListenerOptions<HookMap[N]>): Disposer
  /** Returns the slot that emits a hook. Fetch it once, and check `.active` before building arguments. */
  slot<N extends keyof HookMap>(name: N): SlotOf<HookMap[N]>
}

/**
 * The methods that plugins add to the contexts of others, by name. A plugin extends it with its own:
 *
 * @example
 * declare module 'zin' {
 *   interface PluginMethods {
 *     // Registers a mailbox.
 *     mailbox(name: string): void
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: plugins add to it
export interface PluginMethods {}

/**
 * The context passed to a plugin's functions. Everything registered here is undone when the plugin is disabled.
 */
export interface PluginContext<O extends object = object, U extends Uses = Uses, S extends SettingSpecs = SettingSpecs>
  extends PluginMethods {
  /** The plugin's own name and version. */
  readonly plugin: { readonly name: string; readonly version: string }
  /** Options of the factory call, validated and with defaults. */
  readonly options: Readonly<O>
  /** Values of its settings, parsed, validated and with defaults. */
  readonly settings: SettingValues<S>
  /** Services of `uses` by key, available from `setup` on. An optional one is looked up on each read and may be undefined. */
  readonly services: Resolved<U>
  /** Writes to the app's log; lines carry the plugin's name. */
  readonly log: Logger
  /** The clock: `now()` in ms since 1970, `monotonic()` in ms for durations. Tests may pass a fake one. */
  readonly clock: Clock
  /** Information about the app: name, environment, folders, roles, and listings of plugins, routes, hooks and settings. */
  readonly host: HostView
  /** Listens to hooks and fires them. */
  readonly hooks: PluginHooks
  /**
   * Performs a management action: one that a caller requested and that must be audited. Listeners of `beforeManagementAction` may deny it;
   * those of `onManagementAction` receive its outcome before the caller does. `note` adds facts that become known only while it runs.
   * Throws ACTION_DENIED (409) or the error with which a listener denied it.
   *
   * @example
   * ctx.route({
   *   method: 'DELETE',
   *   path: '/mail/:box',
   *   summary: 'Empties a mailbox',
   *   handler: ({ input }) => {
   *     const target = `mailbox:${input.params.box}`
   *     return ctx.manage({ action: 'mailbox.empty', target }, async (note) => note({ after: { mails: 0 } }))
   *   },
   * })
   */
  manage<T>(action: NewManagementAction, work: (note: (facts: ActionFacts) => void) => Promise<T>): Promise<T>
  /** Registers a route. Conflicts, unknown middleware keys and invalid schemas stop the boot. */
  route<
    const Path extends string,
    const P extends JsonSchema | undefined = undefined,
    const Q extends JsonSchema | undefined = undefined,
    const B extends JsonSchema | undefined = undefined,
    const R extends ResponseSchemas | undefined = undefined,
    const Result extends ResultOf<R> = ResultOf<R>,
    const Use extends readonly UseEntry[] | undefined = undefined,
    const Kind extends BodyType | undefined = undefined,
    const Files extends FileFields | undefined = undefined,
  >(route: RouteSpec<P, Q, B, R, Path, Result, Use, Kind, Files>): void
  /** Registers several routes, created with `defineRoute`. */
  routes(routes: readonly Route[]): void
  /** Registers a middleware that routes reference by its key in `use`; see `defineMiddleware`. A key has one owner. */
  middleware<const Key extends string>(middleware: MiddlewareSpec<Key>): void
  /**
   * Adds a middleware that runs for all requests except probes: any middleware of Koa. `phase` says when; default `global`, before the route
   * match. Within a phase, that of a plugin on which others depend runs first.
   */
  use(middleware: Middleware, options?: { readonly phase?: UsePhase }): void
  /**
   * Sets who reads the multipart forms of routes with `bodyType: 'form'`, in place of the app, which reads them into memory. One plugin of an
   * app; throws ZIN_FORM_READER_TAKEN for another.
   */
  formReader(reader: FormReader): void
  /**
   * Adds a middleware around everything: it runs when a request arrives, before the checks of its head and before `ctx.use` of all plugins, and
   * also for probes. For headers of every response, errors included: see `preparedHeaders`. If it throws, the request fails.
   */
  wrap(middleware: Middleware): void
  /**
   * Adds a handler for requests whose path no route has. It returns true if it has answered; otherwise that of the next plugin is asked, and
   * finally the response is 404.
   *
   * @example
   * ctx.fallback((request) => {
   *   if (request.path !== '/old') return false
   *   request.redirect('/new')
   *   return true
   * })
   */
  fallback(handler: (ctx: Context) => boolean | Promise<boolean>): void
  /**
   * Declares a field of routes that this plugin reads. `check` returns what is wrong with a value: that stops the boot with the route and the
   * problem. Add the field to `RouteFields`, which types it, and read it with `routeOf`.
   *
   * @example
   * ctx.routeField('slowMs', (value) => (Number.isInteger(value) ? undefined : 'must be a whole number of ms'))
   */
  routeField<Field extends keyof RouteFields & string>(field: Field, check: RouteFieldCheck): void
  /**
   * Returns the route of a request, also before the route match; undefined if there is none.
   *
   * @param method of the route. Default: that of the request. For a CORS preflight: the one that it asks for.
   */
  routeOf(request: Context, method?: string): Route | undefined
  /**
   * Adds a decoder of request bodies with this `Content-Encoding`, which are otherwise refused with 415. It runs after the guards of a route;
   * `captureBody` and signatures see the bytes as they were received. The first plugin that adds one for a coding provides it.
   *
   * @param coding in lower case, such as `gzip`.
   * @param decode gets the bytes and the maximum number of decoded ones. It must stop there, and return undefined.
   */
  bodyDecoder(coding: string, decode: BodyDecoder): void
  /** Registers a command of the CLI. */
  command<O extends OptionSpecs>(command: CommandSpec<O>): void
  /** Registers several commands, created with `defineCommand`. */
  commands(commands: readonly Command[]): void
  /** Registers a migration of its database schema; the plugin `database` runs it before `start`. */
  migration(migration: Migration): void
  /** Provides a service that the plugin lists in `provides`. Throws ZIN_SERVICE_UNDECLARED for any other. */
  provide<T>(ref: ServiceRef<T>, service: T): void
  /**
   * Adds a method to the contexts of the plugins that are set up after this one, so that they can call `ctx.<name>(…)`. `make` gets the
   * context of the plugin that calls it: what it registers there belongs to that plugin, and is undone with it. The method must be listed in
   * the plugin's `methods`; throws ZIN_METHOD_UNDECLARED for any other. This plugin cannot be disabled while others use its methods.
   */
  addMethod<N extends keyof PluginMethods & string>(name: N, make: (user: PluginContext) => PluginMethods[N]): void
  /**
   * Adds a configuration check. Those of all plugins run before any is started, and by `zin config:check`. Throw an error to prevent the
   * start, or an AggregateError of several. No I/O.
   */
  onCheck(check: () => void): void
  /** Adds a step to the phase `start`. Steps run in sequence. */
  onStart(step: () => void | Promise<void>): void
  /** Adds a step to the phase `ready`. */
  onReady(step: () => void | Promise<void>): void
  /** Adds a step to the phase `stop`. The last one added runs first. */
  onStop(step: () => void | Promise<void>): void
  /**
   * Adds a step that runs after `stop`, once all plugins that stop together with this one have stopped; at shutdown, these are all plugins.
   * For components that must see their last work, such as an exporter.
   */
  onStopped(step: () => void | Promise<void>): void
  /**
   * Adds fields to every line of the app's log, such as the current trace id. `fields` is called for each line that is written, in the
   * async context of the code that logs it; undefined adds none. Fields of the line itself take precedence.
   */
  logFields(fields: LogFields): void
  /**
   * Sets a function that describes the running plugin in a word or two: `sqlite`, `redis`. The banner of `zin start` shows the result next
   * to the plugin's name. Called each time it is shown. No secrets, no I/O.
   */
  describe(text: () => string | undefined): void
  /**
   * Runs `task` every `ms` until the plugin is disabled or the returned function is called. Runs never overlap: one that is still going on
   * skips the next. Failures are logged. The timer does not keep the process alive.
   */
  every(ms: number, task: () => void | Promise<void>): Disposer
}
