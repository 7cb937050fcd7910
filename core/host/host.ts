import { resolve } from 'node:path'
import { configErrors } from '../config/errors.js'
import { misspelledSettings } from '../config/misspelled.js'
import { type EnvSource, plainEnv, SettingsReader } from '../config/read-settings.js'
import { dataErrors } from '../data/errors.js'
import { isImporting } from '../data/marker.js'
import { messageOf } from '../errors.js'
import { HookBus } from '../hooks/bus.js'
import { coreHooks, type HookMap } from '../hooks/catalogue.js'
import type { SlotOf } from '../hooks/kinds.js'
import type { HttpApp } from '../http/app.js'
import type { OwnedLogger } from '../log/logger.js'
import type { Logger } from '../log/types.js'
import type { ServiceRef } from '../services/ref.js'
import { ServiceRegistry } from '../services/registry.js'
import type { Address } from '../util/address.js'
import { systemClock } from '../util/clock.js'
import { appLogger } from './app-logger.js'
import { appPlugin } from './app-plugin.js'
import { appSettings, describeApp, nameWarnings } from './app-settings.js'
import { type BootCause, BootError, describeCause, located } from './boot-error.js'
import { checkResponders } from './check-responders.js'
import type { OwnedCommand } from './command.js'
import type { ZinConfig } from './define-config.js'
import { hostErrors } from './errors.js'
import type { HostOptions } from './host-options.js'
import { type BootPhase, Lifecycle } from './lifecycle.js'
import type { HostParts } from './make-context.js'
import { makeHttp } from './make-http.js'
import { ContextMethods } from './methods.js'
import { pluginsOf } from './plugin-list.js'
import { PluginSwitch } from './plugin-switch.js'
import { type BootPlan, bootPlan, reportUnit } from './report.js'
import { noRunFile, writeRunFile } from './run-file.js'
import { type ShutdownReport, shutdownReport } from './shutdown.js'
import { delayWarnings, shutdownDelay } from './shutdown-delay.js'
import { ShutdownTime } from './shutdown-time.js'
import { hostStates } from './states.js'
import { endBoot, stopHost } from './stop-host.js'
import { PluginUnit } from './unit.js'
import type { HostView, Role } from './view.js'

/**
 * Runs plugins: checks and sorts them, runs `setup`, `start` and `ready`, serves HTTP,
 * enables and disables them at run time, and stops them in reverse order. Several hosts can run in one process.
 *
 * @example
 * const host = new Host(defineConfig({ plugins: [health()] }), { rootDir: import.meta.dirname })
 * const address = await host.start()
 * await host.stop('done')
 */
export class Host {
  readonly view: HostView
  readonly #config: ZinConfig
  readonly #env: EnvSource
  readonly #settings: SettingsReader
  readonly #parts: HostParts
  readonly #lifecycle: Lifecycle
  readonly #switch: PluginSwitch
  readonly #units: readonly PluginUnit[]
  readonly #ownLog: OwnedLogger | undefined
  readonly #time: ShutdownTime
  readonly #writesRunFile: boolean
  /** Invalid settings of the core, which have their defaults. Nothing starts with them. */
  readonly #invalid: readonly BootCause[]
  #shutdown: Promise<ShutdownReport> | undefined
  readonly #state = hostStates()
  /** Whether `start` was called: an app that is stopped before its first start is one that was stopped while starting. */
  #booted = false
  #address: Address | undefined
  /** Serializes starting, enabling and disabling. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(config: ZinConfig, options: HostOptions) {
    this.#config = config
    this.#writesRunFile = options.runFile ?? true
    this.#env = options.env ?? plainEnv(process.env)
    this.#settings = new SettingsReader(this.#env)
    const { problems, values: settings } = this.#settings.tryRead('core', appSettings)
    this.#invalid = problems.map((problem) => ({
      plugin: 'core',
      phase: 'configuration',
      error: configErrors.ZIN_SETTING_INVALID([problem]),
    }))
    const app = describeApp(config, settings, options, this.#env.file)
    const clock = options.clock ?? systemClock
    const roles = options.roles ?? ['http', 'worker']
    const levelIsSet = (this.#env.values.LOG_LEVEL ?? '') !== '' && !problems.some((problem) => problem.startsWith('LOG_LEVEL='))
    const command = roles.length > 0 ? undefined : { levelIsSet }
    this.#ownLog = options.log === undefined ? appLogger(app, settings, command) : undefined
    const log = options.log ?? (this.#ownLog as OwnedLogger)
    this.#time = new ShutdownTime(clock, app.shutdownMs)
    const services = new ServiceRegistry()
    const external = options.services ?? []
    for (const { ref, service } of external) services.provide('outside', ref, service)

    const rank = (plugin: string): number => this.#rankOf(plugin)
    const bus = new HookBus({ clock, log, rank })
    bus.declare('core', coreHooks)
    const plugins = [...pluginsOf(config), appPlugin(config)]
    const http = makeHttp({ config, settings, app, log, clock, bus, plugins: plugins.map(({ spec }) => spec) })
    http.setRank(rank)
    this.view = this.#makeView(app, new Set(roles))
    const methods = new ContextMethods(plugins.map(({ spec }) => ({ plugin: spec.name, methods: Object.keys(spec.methods ?? {}) })))
    this.#parts = { bus, http, services, methods, commands: new Set(), migrations: new Set(), log, clock, view: this.view }
    this.#units = plugins.map((plugin) => new PluginUnit(plugin))
    this.#lifecycle = new Lifecycle({
      units: this.#units,
      settings: this.#settings,
      external: new Set(external.map(({ ref }) => ref.id)),
      parts: this.#parts,
      phases: { clock, log, instrument: options.instrument ?? ((_plugin, run) => run()), shutdown: this.#time },
      development: this.#env.values.ZIN_DEV === '1',
    })
    this.#switch = new PluginSwitch(this.#lifecycle, this.#parts)
  }

  get log(): Logger {
    return this.#parts.log
  }

  /** The HTTP app, for `inject` and tests. */
  get http(): HttpApp {
    return this.#parts.http
  }

  /** Records every notify and settle emission, for tests. */
  record(listener: (name: string, args: readonly unknown[]) => void): () => void {
    return this.#parts.bus.record(listener)
  }

  service<T>(ref: ServiceRef<T>): T {
    return this.#parts.services.get(ref, 'host')
  }

  /** Returns the slot that emits a hook. */
  slot<N extends keyof HookMap>(name: N): SlotOf<HookMap[N]> {
    return this.#parts.bus.slot(name)
  }

  /** Lists the commands of all plugins that are set up. */
  commands(): readonly OwnedCommand[] {
    return [...this.#parts.commands]
  }

  plan(): BootPlan {
    return bootPlan(this.view, this.#lifecycle.graph, this.commands())
  }

  /** Checks the configuration, sets up every plugin and compiles the routes. Starts nothing. Throws a {@link BootError}. */
  prepare(): Promise<void> {
    return this.#inTurn(() => this.#prepare())
  }

  /**
   * Boots the whole app. Returns the address it listens on, or undefined without the role `http`. Throws a {@link BootError},
   * `ZIN_BOOT_STOPPED` if it is stopped before or meanwhile, or `ZIN_HOST_STATE` on a second call.
   */
  async start(options: { readonly listen?: boolean } = {}): Promise<Address | undefined> {
    await this.#inTurn(async () => {
      if (this.#booted) throw hostErrors.ZIN_HOST_STATE('start again', this.#state.current)
      this.#booted = true
      if (this.#state.current === 'created') await this.#prepare()
      const { dataDir } = this.view.app
      if (await isImporting(dataDir))
        return this.#abort([{ plugin: 'core', phase: 'start', error: dataErrors.DATA_INCOMPLETE(`The data directory ${dataDir}`) }])
      await this.#run(['start', 'ready'], new Set(this.#lifecycle.graph.order))
      if (options.listen !== false && this.view.roles.has('http')) await this.#listen()
      this.#warn(nameWarnings)
      this.#refuseStopped()
      this.#state.to('ready')
    })
    const failures = await this.#parts.bus.slot('onReady').call(this.#address)
    for (const { plugin, error } of failures) this.log.error({ plugin, err: error }, 'a listener of onReady failed')
    return this.#address
  }

  /** For commands, after {@link prepare}: starts only these plugins and their dependencies, without the phase `ready`. */
  startOnly(plugins: readonly string[]): Promise<void> {
    return this.#inTurn(() => this.#run(['start'], this.#lifecycle.graph.closureOf(plugins)))
  }

  /** Enables a registered plugin at run time. */
  enable(name: string): Promise<void> {
    return this.#inTurn(() => this.#switch.enable(name))
  }

  /** Disables a plugin at run time. Throws `ZIN_PLUGIN_IN_USE` while another plugin depends on it. */
  disable(name: string): Promise<void> {
    return this.#inTurn(() => this.#switch.disable(name))
  }

  /**
   * Shuts the app down: readiness returns 503, the port closes, requests in flight finish, then plugins stop in reverse order. A boot in
   * progress is aborted. The whole shutdown takes at most `shutdown.deadlineMs`.
   */
  stop(reason = 'stop'): Promise<ShutdownReport> {
    if (this.#state.current === 'stopped') return Promise.resolve(shutdownReport([], 0))
    this.#shutdown ??= this.#stop(reason)
    return this.#shutdown
  }

  /** Logs an error that nothing caught, with what plugins know about its cause, and stops. */
  async fail(error: unknown): Promise<ShutdownReport> {
    const { bus, log } = this.#parts
    const facts = await bus.slot('collectFatalFacts').call(error)
    const fields = Object.fromEntries([...facts].filter(([, fact]) => !(fact instanceof Error)))
    log.fatal({ err: error, ...fields }, `nothing caught an error, so the app stops: ${messageOf(error)}`)
    return this.stop('an error that nothing caught')
  }

  async #stop(reason: string): Promise<ShutdownReport> {
    this.#time.begin()
    if (this.#state.current === 'starting') this.log.info({ reason }, 'stopped while starting')
    this.#state.to('draining')
    await endBoot(this.#turn, this.#time)
    if (this.#state.current !== 'draining') return shutdownReport([], 0)
    const delayMs = shutdownDelay(this.#config, this.#env)
    const { bus, http, log } = this.#parts
    const { dataDir } = this.view.app
    const listens = this.#address !== undefined
    const report = await stopHost({ reason, listens, delayMs, dataDir, bus, http, log, lifecycle: this.#lifecycle, time: this.#time })
    await this.#close()
    return report
  }

  async #prepare(): Promise<void> {
    this.#state.to('starting')
    const enabled = this.#units.filter((unit) => unit.plugin.enabled)
    const causes = [...this.#invalid]
    try {
      causes.push(...this.#lifecycle.adopt(enabled))
    } catch (error) {
      return this.#abort([...causes, ...(error as BootError).causes])
    }
    causes.push(...(await this.#lifecycle.runLevels('setup', new Set(enabled.map((unit) => unit.name)))))
    if (causes.length > 0) return this.#abort([...causes, ...this.#lifecycle.problems()])
    this.#parts.bus.reorder()
    const warnings: string[] = []
    try {
      const failed = enabled.filter((unit) => unit.state === 'failed').map((unit) => unit.name)
      warnings.push(...checkResponders(this.#config.responders, this.#parts.http.middlewareKeys, failed))
      this.#parts.http.compile()
    } catch (error) {
      return this.#abort([{ plugin: 'http', phase: 'routes', error: error as Error }, ...this.#lifecycle.problems()])
    }
    for (const problem of [...warnings, ...this.#parts.bus.problems(), ...this.#misspelled()]) this.log.warn(problem)
  }

  #misspelled(): readonly string[] {
    const declared = [appSettings, ...this.#units.map((unit) => unit.plugin.spec.settings ?? {})].flatMap(Object.keys)
    return misspelledSettings(this.#env, declared)
  }

  async #run(phases: readonly BootPhase[], names: ReadonlySet<string>): Promise<void> {
    for (const phase of phases) {
      const causes = await this.#lifecycle.runLevels(phase, names)
      if (causes.length > 0) return this.#abort(causes)
    }
    this.#refuseStopped()
    for (const unit of this.#lifecycle.levels(names).flat()) if (unit.state === 'enabling') unit.to('enabled')
  }

  async #listen(): Promise<void> {
    const { bind, dataDir } = this.view.app
    try {
      this.#address = await this.#parts.http.listen(bind)
    } catch (error) {
      return this.#abort([{ plugin: 'http', phase: 'listen', error: error as Error }])
    }
    this.#warn(delayWarnings)
    if (this.#writesRunFile) await writeRunFile(dataDir, this.#address).catch((error: unknown) => this.log.warn(noRunFile(dataDir, error)))
  }

  #warn(warningsOf: typeof nameWarnings): void {
    for (const warning of warningsOf(this.#config, this.#env, this.view.app)) this.log.warn(warning)
  }

  /** Undoes what was set up and throws all causes. If a stop has begun, `stop` undoes it and this throws ZIN_BOOT_STOPPED. */
  async #abort(causes: readonly BootCause[]): Promise<never> {
    this.#refuseStopped()
    this.#time.begin()
    await this.#lifecycle.stopAll()
    await this.#close()
    const { production, rootDir } = this.view.app
    throw new BootError(production ? causes : causes.map((cause) => located(cause, resolve(rootDir))))
  }

  #refuseStopped(): void {
    if (this.#time.begun) throw hostErrors.ZIN_BOOT_STOPPED()
  }

  async #close(): Promise<void> {
    await this.#parts.http.close()
    this.#parts.bus.close()
    this.#state.to('stopped')
    this.#address = undefined
    await this.#ownLog?.close()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #makeView(app: HostView['app'], roles: ReadonlySet<Role>): HostView {
    const host = this
    return {
      app,
      roles,
      get state() {
        return host.#state.current
      },
      get address() {
        return host.#address
      },
      get shutdownLeftMs() {
        return host.#time.leftMs
      },
      plugins: () => this.#units.map((unit) => reportUnit(unit, this.#lifecycle.graph)),
      routes: () => this.#parts.http.routes(),
      hooks: () => this.#parts.bus.report(),
      settings: () => this.#settings.report(),
      warnings: () => [nameWarnings, delayWarnings].flatMap((warn) => warn(this.#config, this.#env, app)),
      problems: () => this.#lifecycle.problems().map(describeCause),
      migrations: () =>
        [...this.#parts.migrations].sort(
          (a, b) => this.#rankOf(a.plugin) - this.#rankOf(b.plugin) || (a.migration.id < b.migration.id ? -1 : 1),
        ),
    }
  }

  /** Position in the graph; the core comes first, unknown plugins last. */
  #rankOf(plugin: string): number {
    const position = this.#lifecycle.graph.order.indexOf(plugin)
    return plugin === 'core' ? -1 : position < 0 ? Number.MAX_SAFE_INTEGER : position
  }
}
