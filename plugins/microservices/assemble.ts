import type { Clock, Logger, Manage, MetricSample, Resolver } from 'zin'
import type { Traces } from 'zin/plugins/observability'
import type { ServiceAuth } from './auth/contract.js'
import { type AuthOptions, authOf } from './auth/strategies.js'
import { Caller } from './calls/caller.js'
import { systemResolver } from './calls/checked-lookup.js'
import type { CircuitTransition } from './calls/circuit.js'
import type { ServiceState } from './contract.js'
import type { ServiceDefinition } from './definitions/definition.js'
import { CallMetrics, serviceMetrics } from './metrics.js'
import { type MicroservicesOptions, rulesOf } from './options.js'
import { Instance } from './run/instance.js'
import { Lifecycle } from './run/lifecycle.js'
import { RegisteredService } from './run/registered-service.js'
import type { Runner } from './run/runner.js'
import { ServiceManager } from './service.js'
import type { Scopes } from './tracing/scopes.js'

const drainMs = 5000

export interface AssembleOptions {
  readonly options: Pick<
    MicroservicesOptions,
    | 'timeoutMs'
    | 'maxResponseBytes'
    | 'maxInFlight'
    | 'retries'
    | 'retryBudget'
    | 'propagateDeadline'
    | 'circuit'
    | 'health'
    | 'startTimeoutMs'
    | 'restarts'
  >
  readonly auth: AuthOptions
  readonly scopes: Scopes
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
  /** Traces of the app, if they are recorded. */
  readonly traces?: () => Traces | undefined
  readonly clock: Clock
  /** Default: runs the work without any gate, as in the child process of a service. */
  readonly manage?: Manage
  readonly random: () => number
  readonly log: Logger
  readonly resolver?: Resolver
  /** Returns what starts a service here; undefined if it runs elsewhere. */
  readonly runner: (definition: ServiceDefinition) => Runner | undefined
  onChange?(service: string, from: ServiceState, to: ServiceState): void
  onTransition?(service: string, instance: string, transition: CircuitTransition): void
  onLost?(service: RegisteredService, instance: Instance, reason: string): void
}

/** The service manager, and functions to register definitions and collect metrics. */
export interface Assembled {
  readonly manager: ServiceManager
  register(definitions: readonly ServiceDefinition[]): void
  /** Samples of calls and instances. */
  metrics(): readonly MetricSample[]
}

export function assemble(given: AssembleOptions): Assembled {
  const {
    auth,
    clock,
    log,
    manage = (_action, work) => work(() => undefined),
    onChange,
    onLost,
    onTransition,
    options,
    random,
    resolver = systemResolver,
    runner,
    scopes,
    traces = () => undefined,
    tracing,
  } = given
  const { circuit, health, retryBudget } = rulesOf(options)
  const strategies = new Map<RegisteredService, ServiceAuth>()
  const authFor = (service: RegisteredService): ServiceAuth => {
    const known = strategies.get(service) ?? authOf(service.definition, auth)
    strategies.set(service, known)
    return known
  }
  const calls = new CallMetrics()
  const caller = new Caller({
    rules: { ...options, retryBudget },
    auth: authFor,
    scopes,
    clock,
    random,
    metrics: calls,
    onTransition: (service, instance, transition) => onTransition?.(service.name, instance.id, transition),
  })
  const lifecycle = new Lifecycle({
    runner: ({ definition }) => runner(definition),
    auth: authFor,
    health,
    startTimeoutMs: options.startTimeoutMs,
    restarts: options.restarts,
    drainMs,
    clock,
    random,
    log,
    onLost: (service, instance, reason) => onLost?.(service, instance, reason),
  })
  const manager = new ServiceManager({ caller, lifecycle, manage, scopes, traces, tracing })
  return {
    manager,
    metrics: () => [...calls.samples(), ...serviceMetrics(manager.list())],
    register: (definitions) =>
      manager.register(
        definitions.map((definition) => {
          const { ca, name: service, urls } = definition
          const instances = urls.map((origin, index) => new Instance(index, { service, origin, resolver, ca }, circuit))
          return new RegisteredService(definition, instances, (from, to) => onChange?.(service, from, to))
        }),
      ),
  }
}
