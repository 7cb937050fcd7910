import type { MetricSample } from 'zin'
import type { ScalingStatus } from './contract.js'

/** What the leader decided last; other nodes know nothing. */
export function autoscaleMetrics(statuses: readonly ScalingStatus[]): readonly MetricSample[] {
  return statuses.flatMap(({ backlog, current, desired, worker }): MetricSample[] => [
    {
      name: 'zin_autoscale_desired_workers',
      help: 'Workers that should run, as the node that scales decided last',
      type: 'gauge',
      value: desired,
      labels: { worker },
    },
    {
      name: 'zin_autoscale_current_workers',
      help: "Workers' worth of parallel jobs that may run, as the node that scales saw last",
      type: 'gauge',
      value: current,
      labels: { worker },
    },
    {
      name: 'zin_autoscale_backlog_jobs',
      help: 'Jobs that were ready to run when the node that scales looked last',
      type: 'gauge',
      value: backlog,
      labels: { worker },
    },
  ])
}
