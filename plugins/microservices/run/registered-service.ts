import type { ServiceState, ServiceView } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { Instance, InstanceState } from './instance.js'

/** The state of a service is the first of these that one of its instances has. */
const best: readonly ServiceState[] = ['running', 'unhealthy', 'starting', 'draining', 'failed', 'stopped', 'registered']

export interface ServiceListeners {
  /** The state of the service has changed. */
  onChange(from: ServiceState, to: ServiceState): void
  /** The state of an instance has changed. */
  onState(state: InstanceState): void
}

/** A registered service with its instances. */
export class RegisteredService {
  readonly definition: ServiceDefinition
  readonly instances: readonly Instance[]
  readonly #listeners: ServiceListeners
  #state: ServiceState = 'registered'
  #turn = 0
  inFlight = 0

  constructor(definition: ServiceDefinition, instances: readonly Instance[], listeners: ServiceListeners) {
    this.definition = definition
    this.instances = instances
    this.#listeners = listeners
  }

  get name(): string {
    return this.definition.name
  }

  get state(): ServiceState {
    return this.#state
  }

  setState(instance: Instance, state: ServiceState, reason?: string): void {
    const before = instance.state
    instance.state = state
    instance.reason = reason
    const from = this.#state
    this.#state = best.find((one) => this.instances.some((each) => each.state === one)) ?? 'registered'
    if (before !== state) this.#listeners.onState(this.#stateOf(instance))
    if (from !== this.#state) this.#listeners.onChange(from, this.#state)
  }

  /** Takes over the state of an instance from the process that starts it. */
  follow({ instance: id, starts, state }: InstanceState): void {
    const instance = this.instances.find((each) => each.id === id)
    if (instance === undefined) return
    if (instance.starts !== starts) instance.renew(starts)
    this.setState(instance, state)
  }

  states(): readonly InstanceState[] {
    return this.instances.map((instance) => this.#stateOf(instance))
  }

  /** Returns the running instances, rotated by one on each call (round-robin). */
  inTurn(): readonly Instance[] {
    const running = this.instances.filter(({ state }) => state === 'running')
    if (running.length < 2) return running
    const start = this.#turn++ % running.length
    return [...running.slice(start), ...running.slice(0, start)]
  }

  view(): ServiceView {
    const { name, domain, version, description, source, dependencies, healthCheck, auth, database, tracing } = this.definition
    const common = { name, domain, version, description, source, state: this.#state, dependencies, healthCheck, auth, database, tracing }
    return { ...common, instances: this.instances.map((instance) => instance.view()) }
  }

  #stateOf({ id, starts, state }: Instance): InstanceState {
    return { service: this.name, instance: id, state, starts }
  }
}
