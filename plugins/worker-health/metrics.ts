import type { MetricSample } from 'zin'

/** The checks of a worker on this node. */
export interface CheckedWorker {
  readonly worker: string
  /** Result of the last check; undefined before the first one. */
  readonly healthy: boolean | undefined
  /** Consecutive counted failures. */
  readonly failures: number
}

/** Metrics of the monitored workers of this process. A FAILED worker is not checked; `zin_worker_state` shows it. */
export function healthMetrics(workers: readonly CheckedWorker[]): readonly MetricSample[] {
  return workers.flatMap(({ failures, healthy, worker }): MetricSample[] =>
    healthy === undefined
      ? []
      : [
          {
            name: 'zin_worker_healthy',
            help: 'Result of the last health check of monitored workers in this process: 1 healthy, 0 unhealthy',
            type: 'gauge',
            value: healthy ? 1 : 0,
            labels: { worker },
          },
          {
            name: 'zin_worker_check_failures',
            help: 'Consecutive failed health checks of monitored workers in this process',
            type: 'gauge',
            value: failures,
            labels: { worker },
          },
        ],
  )
}
