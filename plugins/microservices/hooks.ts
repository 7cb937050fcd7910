import type { HookSpecs, Notify } from 'zin'
import type { ServiceState } from './contract.js'

/** The state of a service changed. */
export interface ServiceChange {
  readonly service: string
  readonly from: ServiceState
  readonly to: ServiceState
}

/** The circuit breaker of an instance changed state. */
export interface ServiceCircuitChange {
  readonly service: string
  readonly instance: string
  readonly from: 'closed' | 'open' | 'half-open'
  readonly to: 'closed' | 'open' | 'half-open'
  readonly reason: string
}

/** An instance was lost: it exited unexpectedly or became unhealthy. */
export interface ServiceFailover {
  readonly service: string
  /** The lost instance. */
  readonly instance: string
  /** Instances that take over its calls; empty if none runs. */
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
  onServiceChange: { kind: 'notify', args: ['change'], summary: 'The state of a service changed' },
  onServiceCircuitChange: { kind: 'notify', args: ['change'], summary: 'The circuit of an instance opened, became half-open, or closed' },
  onServiceFailover: {
    kind: 'notify',
    args: ['failover'],
    summary: 'An instance of a service was lost; the remaining ones take its calls',
  },
} satisfies HookSpecs<MicroserviceHooks>

declare module 'zin' {
  interface HookMap extends MicroserviceHooks {}
}
