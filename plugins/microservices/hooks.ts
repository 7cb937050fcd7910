import type { HookSpecs, Notify } from 'zin'
import type { ServiceState } from './contract.js'

/** A service has another state. */
export interface ServiceChange {
  readonly service: string
  readonly from: ServiceState
  readonly to: ServiceState
}

/** The circuit breaker of an instance has another state. */
export interface ServiceCircuitChange {
  readonly service: string
  readonly instance: string
  readonly from: 'closed' | 'open' | 'half-open'
  readonly to: 'closed' | 'open' | 'half-open'
  readonly reason: string
}

/** An instance is lost: it ended by itself, or is no longer healthy. */
export interface ServiceFailover {
  readonly service: string
  /** The instance that is lost. */
  readonly instance: string
  /** Instances that take its calls. */
  readonly to: readonly string[]
  readonly reason: string
}

/** Hooks that the plugin fires. */
export interface MicroserviceHooks {
  onServiceChange: Notify<[change: ServiceChange]>
  onServiceCircuitChange: Notify<[change: ServiceCircuitChange]>
  onServiceFailover: Notify<[failover: ServiceFailover]>
}

export const microserviceHooks = {
  onServiceChange: { kind: 'notify', args: ['change'], summary: 'A service has another state' },
  onServiceCircuitChange: { kind: 'notify', args: ['change'], summary: 'A circuit of a service has opened, become half-open or closed' },
  onServiceFailover: { kind: 'notify', args: ['failover'], summary: 'An instance of a service is lost; others take its calls' },
} satisfies HookSpecs<MicroserviceHooks>

declare module 'zin' {
  interface HookMap extends MicroserviceHooks {}
}
