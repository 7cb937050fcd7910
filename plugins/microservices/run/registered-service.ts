import type { ServiceState, ServiceView } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { Instance } from './instance.js'

/** The state of a service is the first of these that one of its instances has. */
const best: readonly ServiceState[] = ['running', 'unhealthy', 'starting', 'draining', 'failed', 'stopped', 'registered']

/** A registered service with its instances. */
export class RegisteredService {
  readonly definition: ServiceDefinition
  readonly instances: readonly Instance[]
  readonly #onChange: (from: ServiceState, to: ServiceState) => void
  #state: ServiceState = 'registered'
  #turn = 0
  inFlight = 0

  constructor(definition: ServiceDefinition, instances: readonly Instance[], onChange: (from: ServiceState, to: ServiceState) => void) {
    this.definition = definition
    this.instances = instances
    this.#onChange = onChange
  }

  get name(): string {
    return this.definition.name
  }

  get state(): ServiceState {
    return this.#state
  }

  setState(instance: Instance, state: ServiceState, reason?: string): void {
    instance.state = state
    instance.reason = reason
    const from = this.#state
    this.#state = best.find((one) => this.instances.some((each) => each.state === one)) ?? 'registered'
    if (from !== this.#state) this.#onChange(from, this.#state)
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
}
