import { defineService } from 'zin'
import type { CircuitState } from './circuit.js'
import type { BreakerRules } from './rules.js'

/** One change of a circuit. */
export interface CircuitChange {
  readonly worker: string
  /** Job name, with `perJobName`. */
  readonly jobName?: string
  readonly from: CircuitState
  readonly to: CircuitState
  /** The reason with its numbers, as one sentence. */
  readonly reason: string
  /** Set when the circuit opens: when probes may run, in ms since 1970. */
  readonly until?: number
}

/** A circuit that is not closed; times are ISO 8601. */
export interface CircuitView {
  /** Null for the circuit of all jobs of the worker. */
  readonly jobName: string | null
  readonly state: Exclude<CircuitState, 'closed'>
  readonly since: string
  /** When the next job may run as a probe; null while it is half-open. */
  readonly until: string | null
  /** Number of consecutive openings, from 1. */
  readonly openings: number
  readonly probes: { readonly running: number; readonly passed: number; readonly needed: number }
  readonly reason: string
}

/** The circuit breaker of a worker across all nodes. */
export interface BreakerStatus {
  readonly worker: string
  /** Whether the breaker is active: `features.circuitBreaker` is true, and `features.plugins` is not false. */
  readonly enabled: boolean
  /** State of the worst circuit. */
  readonly state: CircuitState
  /** Circuits that are not closed; without `perJobName`, at most one. */
  readonly circuits: readonly CircuitView[]
  readonly rules: BreakerRules
}

/**
 * Circuit breakers of workers.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { breakerService } from 'zin/plugins/breaker'
 *
 * export const promises = definePlugin({
 *   name: 'promises',
 *   version: '1.0.0',
 *   uses: { breaker: breakerService },
 *   setup({ route, services }) {
 *     route({
 *       method: 'GET',
 *       path: '/promises',
 *       summary: 'Whether mails go out',
 *       handler: async () => ({ goesOut: (await services.breaker.status('email-sender')).state === 'closed' }),
 *     })
 *   },
 * })
 */
export interface Breaker {
  /** Reads the state from the store, in one round trip in addition to the worker record. 404 WORKER_NOT_FOUND. */
  status(worker: string): Promise<BreakerStatus>
  /** Closes all circuits of a worker. 404 WORKER_NOT_FOUND, 409 CIRCUIT_BREAKER_OFF. */
  reset(worker: string): Promise<BreakerStatus>
}

export const breakerService = defineService<Breaker>('breaker')
