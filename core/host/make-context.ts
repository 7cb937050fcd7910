import type { HookBus } from '../hooks/bus.js'
import { type ManagementAction, manage } from '../hooks/manage.js'
import type { HttpApp } from '../http/app.js'
import type { RouteMiddleware } from '../http/middleware.js'
import type { Logger } from '../log/types.js'
import { serviceErrors } from '../services/errors.js'
import type { Uses } from '../services/ref.js'
import type { ServiceRegistry } from '../services/registry.js'
import type { Clock } from '../util/clock.js'
import type { Disposer } from '../util/disposer.js'
import type { Command, OwnedCommand } from './command.js'
import type { PluginContext, PluginMethods } from './context.js'
import { every } from './every.js'
import type { ContextMethods, MakeMethod } from './methods.js'
import type { Migration } from './migration.js'
import type { PluginUnit } from './unit.js'
import type { HostView } from './view.js'

/** The parts of a host that plugins register into. */
export interface HostParts {
  readonly bus: HookBus
  readonly http: HttpApp
  readonly services: ServiceRegistry
  readonly methods: ContextMethods
  readonly commands: Set<OwnedCommand>
  readonly migrations: Set<{ readonly plugin: string; readonly migration: Migration }>
  readonly log: Logger
  readonly clock: Clock
  readonly view: HostView
}

/** Creates the context of a plugin. Every registration is tracked in one of the unit's scopes. */
export function makeContext(unit: PluginUnit, parts: HostParts): PluginContext {
  const { name, version, uses = {}, provides = [] } = unit.plugin.spec
  const log = parts.log.child({ plugin: name })
  const addTo = <T>(set: Set<T>, entry: T): Disposer => {
    set.add(entry)
    return unit.resources.add(() => void set.delete(entry))
  }
  const managing = {
    plugin: name,
    before: parts.bus.slot('beforeManagementAction'),
    after: parts.bus.slot('onManagementAction'),
    onFailure: (plugin: string, { action, target }: ManagementAction, err: Error) =>
      log.error(
        { plugin, action, target, err },
        `the onManagementAction listener of plugin "${plugin}" failed for "${action}" of ${target}`,
      ),
  }
  const own: Omit<PluginContext, keyof PluginMethods> = {
    plugin: { name, version },
    options: unit.options,
    settings: unit.settings as never,
    services: resolveServices(name, uses, parts.services),
    log,
    clock: parts.clock,
    host: parts.view,
    hooks: {
      on: (hook, listener) => unit.traffic.add(parts.bus.on(name, hook, listener as never)),
      slot: (hook) => parts.bus.slot(hook),
    },
    manage: (action, work) => manage(managing, action, work),
    route: (route) => void unit.traffic.add(parts.http.addRoute(name, route)),
    routes: (routes) => routes.forEach((route) => void unit.traffic.add(parts.http.addRoute(name, route))),
    middleware: (middleware) => void unit.traffic.add(parts.http.addMiddleware(name, middleware as RouteMiddleware)),
    use: (middleware, { phase } = {}) => void unit.traffic.add(parts.http.addGlobal(name, middleware, phase)),
    formReader: (reader) => void unit.traffic.add(parts.http.setFormReader(name, reader)),
    wrap: (middleware) => void unit.traffic.add(parts.http.addWrap(name, middleware)),
    fallback: (handler) => void unit.traffic.add(parts.http.addFallback(name, handler)),
    routeField: (field, check) => void unit.traffic.add(parts.http.addField(name, field, check)),
    routeOf: (request, method) => parts.http.routeOf(request, method),
    bodyDecoder: (coding, decode) => void unit.traffic.add(parts.http.addDecoder(coding, decode)),
    command: (command) => void addTo(parts.commands, { plugin: name, command: command as Command }),
    commands: (commands) => commands.forEach((command) => void addTo(parts.commands, { plugin: name, command })),
    migration: (migration) => void addTo(parts.migrations, { plugin: name, migration }),
    provide: (ref, service) => {
      if (!provides.some((declared) => declared.id === ref.id)) {
        throw serviceErrors.ZIN_SERVICE_UNDECLARED(name, ref.id)
      }
      unit.resources.add(parts.services.provide(name, ref, service))
    },
    addMethod: (method, make) => void unit.resources.add(parts.methods.add(name, method, make as MakeMethod)),
    onCheck: (check) => unit.addCheck(check),
    onStart: (step) => unit.addStep('start', step),
    onReady: (step) => unit.addStep('ready', step),
    onStop: (step) => unit.addStep('stop', step),
    onStopped: (step) => unit.addLast(step),
    logFields: (fields) => void unit.resources.add(parts.log.addFields?.(fields) ?? (() => undefined)),
    describe: (text) => unit.addDescription(text),
    every: (ms, task) => unit.resources.add(every(ms, task, log)),
  }
  const context = own as PluginContext
  unit.resources.add(parts.methods.extend(context))
  return context
}

/** Services are looked up on each read, because the plugin of an optional one may be enabled or disabled. */
function resolveServices(plugin: string, uses: Uses, registry: ServiceRegistry): never {
  const services = {}
  for (const [key, ref] of Object.entries(uses)) {
    Object.defineProperty(services, key, {
      enumerable: true,
      get: () => (ref.optional ? registry.find(ref) : registry.get(ref as never, plugin)),
    })
  }
  return services as never
}
