import type { Traces } from 'zin/plugins/observability'
import type { ServiceCall, ServiceCalls, ServiceResponse } from '../contract.js'
import { microserviceErrors } from '../errors.js'
import type { InstanceState } from '../run/instance.js'
import type { RegisteredService } from '../run/registered-service.js'
import type { Scopes } from '../tracing/scopes.js'
import { newTrace, readTrace, traceHeaders } from '../tracing/trace.js'
import type { Caller } from './caller.js'

export interface CallableServicesParts {
  readonly caller: Caller
  readonly scopes: Scopes
  readonly traces: () => Traces | undefined
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
}

/** Registered services, and calls of them by name. */
export class CallableServices implements ServiceCalls {
  readonly #parts: CallableServicesParts
  readonly #services = new Map<string, RegisteredService>()

  constructor(parts: CallableServicesParts) {
    this.#parts = parts
  }

  register(services: readonly RegisteredService[]): void {
    for (const service of services) this.#services.set(service.name, service)
  }

  /** In the order of registration, which is that of dependencies. */
  registered(): readonly RegisteredService[] {
    return [...this.#services.values()]
  }

  /** Throws SERVICE_NOT_REGISTERED. */
  find(name: string): RegisteredService {
    const service = this.#services.get(name)
    if (service === undefined) throw microserviceErrors.SERVICE_NOT_REGISTERED(String(name))
    return service
  }

  /** Takes over states from the app that starts the instances and checks their health. */
  follow(states: readonly InstanceState[]): void {
    for (const state of states) this.#services.get(state.service)?.follow(state)
  }

  async callService<T>(name: string, call: ServiceCall): Promise<ServiceResponse<T>> {
    const { caller, traces } = this.#parts
    const service = this.find(name)
    const recorded = traces()
    if (recorded?.enabled !== true) return (await caller.call(service, call)) as ServiceResponse<T>
    const { method = 'GET' } = call
    const attributes = { 'http.request.method': method, 'server.address': name }
    const send = () => caller.call(service, { ...call, headers: this.injectHeaders(call.headers) })
    return (await recorded.span(`${method} ${name}`, send, { kind: 'client', attributes })) as ServiceResponse<T>
  }

  injectHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { scopes, traces, tracing } = this.#parts
    const known = scopes.current?.trace
    const current = traces()?.current()
    // The recorded trace takes precedence: its span makes the call.
    const trace =
      (current === undefined ? known : { foreignId: known?.foreignId, ...current }) ??
      (tracing.enabled ? newTrace(tracing.samplingRate) : undefined)
    return trace === undefined ? { ...headers } : { ...headers, ...traceHeaders(trace) }
  }

  continueTrace<T>(headers: Readonly<Record<string, string>>, task: () => T): T {
    const trace = readTrace(headers, this.#parts.tracing.samplingRate)
    return this.#parts.scopes.run({ ...(trace === undefined ? {} : { trace }), isRetry: false }, task)
  }
}
