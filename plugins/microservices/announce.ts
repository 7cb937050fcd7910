import type { Logger, NotifySlot } from 'zin'
import type { Decisions } from 'zin/plugins/decisions'
import type { CircuitTransition } from './calls/circuit.js'
import type { ServiceState } from './contract.js'
import type { ServiceChange, ServiceCircuitChange, ServiceFailover } from './hooks.js'
import type { Instance } from './run/instance.js'
import type { RegisteredService } from './run/registered-service.js'

export interface AnnouncerParts {
  readonly log: Logger
  readonly decisions: () => Decisions | undefined
  readonly onServiceChange: NotifySlot<[change: ServiceChange]>
  readonly onServiceCircuitChange: NotifySlot<[change: ServiceCircuitChange]>
  readonly onServiceFailover: NotifySlot<[failover: ServiceFailover]>
}

const api = '/api/services'
const levels = { closed: 'info', open: 'warn', 'half-open': 'info' } as const

/** Publishes changes of services: logs them, calls hooks, and records automatic actions in `decisions`. */
export class Announcer {
  readonly #parts: AnnouncerParts

  constructor(parts: AnnouncerParts) {
    this.#parts = parts
  }

  change(service: string, from: ServiceState, to: ServiceState): void {
    const { log, onServiceChange } = this.#parts
    log[to === 'failed' || to === 'unhealthy' ? 'warn' : 'info']({ service, from }, `service "${service}" is ${to}`)
    if (onServiceChange.active) onServiceChange.call({ service, from, to })
  }

  circuit(service: string, instance: string, { from, reason, to }: CircuitTransition): void {
    const { log, onServiceCircuitChange } = this.#parts
    log[levels[to]]({ service, instance, from }, `the circuit of ${instance} is ${to}: ${reason}`)
    if (onServiceCircuitChange.active) onServiceCircuitChange.call({ service, instance, from, to, reason })
    if (to === 'half-open') return
    this.#record(
      'breaker',
      service,
      to,
      `Circuit of ${instance} ${to === 'open' ? 'opened' : 'closed'} because ${reason}`,
      { instance },
      'circuit',
    )
  }

  failover({ instances, name }: RegisteredService, lost: Instance, reason: string): void {
    const { log, onServiceFailover } = this.#parts
    const to = instances.filter(({ state }) => state === 'running').map(({ id }) => id)
    log.warn({ service: name, instance: lost.id, to }, `${lost.id} is lost: ${reason}`)
    if (onServiceFailover.active) onServiceFailover.call({ service: name, instance: lost.id, to, reason })
    const rest = to.length === 0 ? 'no other instance runs' : `${to.join(', ')} take${to.length === 1 ? 's' : ''} its calls`
    this.#record('failover', name, 'lost', `${lost.id} is lost (${reason}); ${rest}`, { instance: lost.id, to }, 'instance-lost')
  }

  #record(
    kind: string,
    service: string,
    verdict: string,
    reason: string,
    inputs: { readonly [key: string]: string | readonly string[] },
    rule: string,
  ): void {
    const line = reason.replaceAll(/\s+/g, ' ').slice(0, 500)
    this.#parts.decisions()?.record({
      kind,
      subject: `service:${service}`,
      verdict,
      acted: true,
      reason: line,
      inputs,
      rule: `microservices/${rule}`,
      links: { services: api },
    })
  }
}
