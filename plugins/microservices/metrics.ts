import { type MetricSample, ZinError } from 'zin'
import { SeriesCounter, SeriesHistogram } from 'zin/plugins/observability'
import type { InstanceView, ServiceView } from './contract.js'

/** In seconds. */
const callBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const circuitStates: readonly InstanceView['circuit'][] = ['closed', 'half-open', 'open']

/** Counts calls by service and outcome. Service names come from the configuration, so clients cannot create series. */
export class CallMetrics {
  readonly #calls = new SeriesHistogram({
    name: 'zin_service_call_duration_seconds',
    help: 'Duration of service calls including retries, by outcome: ok, failed (status 500 or more), or the reason for a missing response',
    labels: ['service', 'outcome'],
    bounds: callBounds,
  })
  readonly #retries = new SeriesCounter({
    name: 'zin_service_retries_total',
    help: 'Retries of service calls',
    labels: ['service'],
  })

  /** @param end status of the response, or the error. */
  ended(service: string, end: unknown, ms: number): void {
    this.#calls.observe([service, outcomeOf(end)], ms / 1000)
  }

  retried(service: string): void {
    this.#retries.add([service])
  }

  samples(): readonly MetricSample[] {
    return [...this.#calls.samples(), ...this.#retries.samples()]
  }
}

/** `SERVICE_CIRCUIT_OPEN` is counted as `circuit_open`. */
function outcomeOf(end: unknown): string {
  if (typeof end === 'number') return end >= 500 ? 'failed' : 'ok'
  return end instanceof ZinError ? end.code.replace(/^SERVICE_/, '').toLowerCase() : 'error'
}

/** Gauges and counters of the instances, as this node sees them. */
export function serviceMetrics(services: readonly ServiceView[]): readonly MetricSample[] {
  return services.flatMap(({ instances, name: service }) =>
    instances.flatMap(({ circuit, id: service_instance, restarts, state }): MetricSample[] => [
      {
        name: 'zin_service_up',
        help: '1 while the instance receives calls, otherwise 0',
        type: 'gauge',
        value: state === 'running' ? 1 : 0,
        labels: { service, service_instance },
      },
      {
        name: 'zin_service_restarts_total',
        help: 'Automatic restarts of the instance',
        type: 'counter',
        value: restarts,
        labels: { service, service_instance },
      },
      ...circuitStates.map((one) => ({
        name: 'zin_service_circuit_state',
        help: 'Circuit breaker of the instance: 1 for its current state',
        type: 'gauge' as const,
        value: circuit === one ? 1 : 0,
        labels: { service, service_instance, state: one },
      })),
    ]),
  )
}
