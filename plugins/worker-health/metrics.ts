import type { MetricSample } from 'zin'

/** The checks of a worker on this node. */
export interface CheckedWorker {
  readonly worker: string
  /** Of its last check; undefined before the first one. */
  readonly healthy: boolean | undefined
  /** Consecutive counted failures. */
  readonly failures: number
}

/** The monitored workers of this process. One that has failed is not checked, and is seen in `zin_worker_state`. */
export function healthMetrics(workers: readonly CheckedWorker[]): readonly MetricSample[] {
  return workers.flatMap(({ failures, healthy, worker }): MetricSample[] =>
    healthy === undefined
      ? []
      : [
          {
            name: 'zin_worker_healthy',
            help: 'The last health check of monitored workers in this process: 1 or 0',
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
