import type { Manage } from 'zin'
import { CallableServices, type CallableServicesParts } from './calls/callable-services.js'
import type { Microservices, ServiceView } from './contract.js'
import type { Lifecycle } from './run/lifecycle.js'

export interface MicroservicesParts extends CallableServicesParts {
  readonly lifecycle: Lifecycle
  readonly manage: Manage
}

/** Registers, starts, stops and calls the services of an app. */
export class ServiceManager extends CallableServices implements Microservices {
  readonly #parts: MicroservicesParts

  constructor(parts: MicroservicesParts) {
    super(parts)
    this.#parts = parts
  }

  async startService(name: string): Promise<ServiceView> {
    const service = this.find(name)
    const { lifecycle, manage } = this.#parts
    await manage({ action: 'service.start', target: `service:${name}` }, () => lifecycle.start(service))
    return service.view()
  }

  async stopService(name: string): Promise<ServiceView> {
    const service = this.find(name)
    const { lifecycle, manage } = this.#parts
    await manage({ action: 'service.stop', target: `service:${name}` }, () => lifecycle.stop(service))
    return service.view()
  }

  list(): readonly ServiceView[] {
    return this.registered()
      .map((service) => service.view())
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Starts all services, each after its dependencies have started or failed. Calls `onFailure` for each failure. */
  async startAll(onFailure: (service: string, error: unknown) => void): Promise<void> {
    const starts = new Map<string, Promise<void>>()
    for (const service of this.registered()) {
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
    const services = this.registered().toReversed()
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
}
