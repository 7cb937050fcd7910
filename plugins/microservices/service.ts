import type { Manage } from 'zin'
import type { Traces } from 'zin/plugins/observability'
import type { Caller } from './calls/caller.js'
import type { Microservices, ServiceCall, ServiceResponse, ServiceView } from './contract.js'
import { microserviceErrors } from './errors.js'
import type { Lifecycle } from './run/lifecycle.js'
import type { RegisteredService } from './run/registered-service.js'
import type { Scopes } from './tracing/scopes.js'
import { newTrace, readTrace, traceHeaders } from './tracing/trace.js'

export interface MicroservicesParts {
  readonly caller: Caller
  readonly lifecycle: Lifecycle
  readonly scopes: Scopes
  readonly manage: Manage
  readonly traces: () => Traces | undefined
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
}

/** Registers, starts, stops and calls the services of an app. */
export class ServiceManager implements Microservices {
  readonly #parts: MicroservicesParts
  /** In dependency order. */
  readonly #services = new Map<string, RegisteredService>()

  constructor(parts: MicroservicesParts) {
    this.#parts = parts
  }

  register(services: readonly RegisteredService[]): void {
    for (const service of services) this.#services.set(service.name, service)
  }

  async callService<T>(name: string, call: ServiceCall): Promise<ServiceResponse<T>> {
    const { caller, traces } = this.#parts
    const service = this.#find(name)
    const recorded = traces()
    if (recorded?.enabled !== true) return (await caller.call(service, call)) as ServiceResponse<T>
    const { method = 'GET' } = call
    const attributes = { 'http.request.method': method, 'server.address': name }
    const send = () => caller.call(service, { ...call, headers: this.injectHeaders(call.headers) })
    return (await recorded.span(`${method} ${name}`, send, { kind: 'client', attributes })) as ServiceResponse<T>
  }

  async startService(name: string): Promise<ServiceView> {
    const service = this.#find(name)
    const { lifecycle, manage } = this.#parts
    await manage({ action: 'service.start', target: `service:${name}` }, () => lifecycle.start(service))
    return service.view()
  }

  async stopService(name: string): Promise<ServiceView> {
    const service = this.#find(name)
    const { lifecycle, manage } = this.#parts
    await manage({ action: 'service.stop', target: `service:${name}` }, () => lifecycle.stop(service))
    return service.view()
  }

  list(): readonly ServiceView[] {
    return [...this.#services.values()].map((service) => service.view()).sort((a, b) => (a.name < b.name ? -1 : 1))
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

  /** Starts all services, each after its dependencies have started or failed. Calls `onFailure` for each failure. */
  async startAll(onFailure: (service: string, error: unknown) => void): Promise<void> {
    const starts = new Map<string, Promise<void>>()
    for (const service of this.#services.values()) {
      const { name, definition } = service
      const before = definition.dependencies.map((dependency) => starts.get(dependency) ?? Promise.resolve())
      const start = Promise.all(before)
        .then(() => this.#parts.lifecycle.start(service))
        .catch((error: unknown) => onFailure(name, error))
      starts.set(name, start)
    }
    await Promise.all(starts.values())
  }

  /** Stops all services, each after the services that depend on it. */
  async stopAll(): Promise<void> {
    const services = [...this.#services.values()].reverse()
    const stops = new Map<string, Promise<void>>()
    for (const service of services) {
      const before = services
        .filter(({ definition }) => definition.dependencies.includes(service.name))
        .map(({ name }) => stops.get(name) ?? Promise.resolve())
      stops.set(
        service.name,
        Promise.all(before).then(() => this.#parts.lifecycle.stop(service)),
      )
    }
    await Promise.all(stops.values())
  }

  #find(name: string): RegisteredService {
    const service = this.#services.get(name)
    if (service === undefined) throw microserviceErrors.SERVICE_NOT_REGISTERED(String(name))
    return service
  }
}
