import type { MetricSample } from 'zin'
import type { CircuitState } from './circuit.js'
import type { Guard } from './guard.js'

const states: readonly CircuitState[] = ['closed', 'half-open', 'open']

/** Returns metrics of the circuits of this process's workers, as last read. */
export function breakerMetrics(guards: readonly Guard[]): readonly MetricSample[] {
  return guards.flatMap(({ circuits, worker }) => {
    const worst = states.findLast((state) => state === 'closed' || Object.values(circuits).some((circuit) => circuit.state === state))
    return states.map((state) => ({
      name: 'zin_breaker_state',
      help: 'State of the circuit breakers of workers: 1 for the state of the worst circuit, 0 for other states',
      type: 'gauge' as const,
      value: state === worst ? 1 : 0,
      labels: { worker, state },
    }))
  })
}
