import { Circuit, type CircuitRules } from '../calls/circuit.js'
import { type Connections, type ConnectionsOptions, openConnections } from '../calls/transport.js'
import type { InstanceView, ServiceState } from '../contract.js'

/** What callers need to know of an instance; an app sends it to its child processes. */
export interface InstanceState {
  readonly service: string
  /** `users-1`. */
  readonly instance: string
  readonly state: ServiceState
  /** Number of its starts, automatic or not: callers renew their connections and circuit with each. */
  readonly starts: number
}

/** One address of a service, with its state as seen by this node. */
export class Instance {
  readonly id: string
  readonly url: string
  readonly #rules: CircuitRules
  readonly #connect: ConnectionsOptions
  state: ServiceState = 'registered'
  reason: string | undefined
  inFlight = 0
  /** Monotonic time of the last call by this process, in ms. */
  calledAt = -Infinity
  restarts = 0
  /** Number of all starts. */
  starts = 0
  pid: number | undefined
  /** Automatic restarts in a row. */
  attempts = 0
  retry: InstanceView['retry']
  circuit: Circuit
  #connections: Connections | undefined

  constructor(index: number, connect: ConnectionsOptions, rules: CircuitRules) {
    this.id = `${connect.service}-${index + 1}`
    this.url = connect.origin
    this.#connect = connect
    this.#rules = rules
    this.circuit = new Circuit(rules)
  }

  get connections(): Connections {
    this.#connections ??= openConnections(this.#connect)
    return this.#connections
  }

  /** Resets connections, circuit and reason before a new start. */
  renew(starts = this.starts + 1): void {
    this.close()
    this.starts = starts
    this.circuit = new Circuit(this.#rules)
    this.reason = undefined
  }

  close(): void {
    this.#connections?.close()
    this.#connections = undefined
  }

  view(): InstanceView {
    const { id, url, state, circuit, inFlight, restarts, pid, retry, reason } = this
    return {
      id,
      url,
      state,
      circuit: circuit.state,
      inFlight,
      restarts,
      ...(pid === undefined ? {} : { pid }),
      ...(retry === undefined ? {} : { retry }),
      ...(reason === undefined ? {} : { reason }),
    }
  }
}
