import type { Clock, Logger, Manage, MetricSample, Resolver } from 'zin'
import type { Traces } from 'zin/plugins/observability'
import type { ServiceAuth } from './auth/contract.js'
import { type AuthOptions, authOf } from './auth/strategies.js'
import { CallableServices, type CallableServicesParts } from './calls/callable-services.js'
import { Caller } from './calls/caller.js'
import { systemResolver } from './calls/checked-lookup.js'
import type { CircuitTransition } from './calls/circuit.js'
import type { ServiceState } from './contract.js'
import type { ServiceDefinition } from './definitions/definition.js'
import { CallMetrics, serviceMetrics } from './metrics.js'
import { type MicroservicesOptions, rulesOf } from './options.js'
import { Instance, type InstanceState } from './run/instance.js'
import { Lifecycle } from './run/lifecycle.js'
import { RegisteredService } from './run/registered-service.js'
import type { Runner } from './run/runner.js'
import { ServiceManager } from './service.js'
import type { Scopes } from './tracing/scopes.js'

const drainMs = 5000

/** What calls of services need. */
export interface AssembleCallsOptions {
  readonly options: Pick<
    MicroservicesOptions,
    'timeoutMs' | 'maxResponseBytes' | 'maxInFlight' | 'retries' | 'retryBudget' | 'propagateDeadline' | 'circuit'
  >
  readonly auth: AuthOptions
  readonly scopes: Scopes
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
  /** Traces of the app, if they are recorded. */
  readonly traces?: () => Traces | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly resolver?: Resolver
  onChange?(service: string, from: ServiceState, to: ServiceState): void
  onState?(state: InstanceState): void
  onTransition?(service: string, instance: string, transition: CircuitTransition): void
}

export interface AssembleOptions extends AssembleCallsOptions {
  readonly options: AssembleCallsOptions['options'] & Pick<MicroservicesOptions, 'health' | 'startTimeoutMs' | 'restarts'>
  /** Default: runs the work without any gate. */
  readonly manage?: Manage
  readonly log: Logger
  /** Whether this process checks the health of every instance. Default true; otherwise only of those that it calls. */
  readonly checksAll?: boolean
  /** Returns what starts a service here; undefined if it runs elsewhere. */
  readonly runner: (definition: ServiceDefinition) => Runner | undefined
  onLost?(service: RegisteredService, instance: Instance, reason: string): void
}

/** The service manager, and functions to register definitions and collect metrics. */
export interface Assembled {
  readonly manager: ServiceManager
  register(definitions: readonly ServiceDefinition[]): void
  /** Samples of calls and instances. */
  metrics(): readonly MetricSample[]
}

interface CallParts {
  readonly parts: CallableServicesParts
  readonly authFor: (service: RegisteredService) => ServiceAuth
  readonly metrics: CallMetrics
  readonly create: (definition: ServiceDefinition) => RegisteredService
}

/** Assembles the services of an app, which starts them and checks their health. */
export function assemble(given: AssembleOptions): Assembled {
  const { clock, log, manage = (_action, work) => work(() => undefined), onLost, options, random, runner } = given
  const { authFor, create, metrics, parts } = callParts(given)
  const lifecycle = new Lifecycle({
    runner: ({ definition }) => runner(definition),
    auth: authFor,
    health: rulesOf(options).health,
    checksAll: given.checksAll ?? true,
    startTimeoutMs: options.startTimeoutMs,
    restarts: options.restarts,
    drainMs,
    clock,
    random,
    log,
    onLost: (service, instance, reason) => onLost?.(service, instance, reason),
  })
  const manager = new ServiceManager({ ...parts, lifecycle, manage })
  return {
    manager,
    metrics: () => [...metrics.samples(), ...serviceMetrics(manager.list())],
    register: (definitions) => manager.register(definitions.map(create)),
  }
}

/** Assembles services that another process starts and checks: in the child process of a service, which is told their states. */
export function assembleCalls(given: AssembleCallsOptions, definitions: readonly ServiceDefinition[]): CallableServices {
  const { create, parts } = callParts(given)
  const services = new CallableServices(parts)
  services.register(definitions.map(create))
  return services
}

function callParts(given: AssembleCallsOptions): CallParts {
  const { auth, clock, onChange, onState, onTransition, options, random, resolver = systemResolver, scopes, traces, tracing } = given
  const { circuit, retryBudget } = rulesOf(options)
  const strategies = new Map<RegisteredService, ServiceAuth>()
  const authFor = (service: RegisteredService): ServiceAuth => {
    const known = strategies.get(service) ?? authOf(service.definition, auth)
    strategies.set(service, known)
    return known
  }
  const metrics = new CallMetrics()
  const caller = new Caller({
    rules: { ...options, retryBudget },
    auth: authFor,
    scopes,
    clock,
    random,
    metrics,
    onTransition: (service, instance, transition) => onTransition?.(service.name, instance.id, transition),
  })
  return {
    parts: { caller, scopes, traces: traces ?? (() => undefined), tracing },
    authFor,
    metrics,
    create: (definition) => {
      const { ca, name: service, urls } = definition
      const instances = urls.map((origin, index) => new Instance(index, { service, origin, resolver, ca }, circuit))
      return new RegisteredService(definition, instances, {
        onChange: (from, to) => onChange?.(service, from, to),
        onState: (state) => onState?.(state),
      })
    },
  }
}
