import type { MetricSample } from 'zin'
import type { LocalWorker } from './contract.js'

/** The workers that run in this process. */
export function workerMetrics(workers: readonly LocalWorker[]): readonly MetricSample[] {
  return workers.flatMap(({ name: worker, routeFallbacks, state, version }): MetricSample[] => [
    {
      name: 'zin_worker_state',
      help: 'Workers of this process with their state and version; always 1',
      type: 'gauge',
      value: 1,
      labels: { worker, version, state },
    },
    {
      name: 'zin_worker_route_fallbacks_total',
      help: 'Attempts whose route chose a version that is not loaded in this process',
      type: 'counter',
      value: routeFallbacks,
      labels: { worker },
    },
  ])
}
