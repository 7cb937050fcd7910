import type { MetricSample } from 'zin'
import type { ScalingStatus } from './contract.js'

/** Returns metrics of the last decisions; empty on nodes other than the leader. */
export function autoscaleMetrics(statuses: readonly ScalingStatus[]): readonly MetricSample[] {
  return statuses.flatMap(({ backlog, current, desired, running, target, worker }): MetricSample[] => [
    {
      name: 'zin_autoscale_desired_workers',
      help: 'Number of workers that the platform should run',
      type: 'gauge',
      value: desired,
      labels: { worker },
    },
    {
      name: 'zin_autoscale_target_workers',
      help: 'Number of workers that the load needs, as last decided by the leader',
      type: 'gauge',
      value: target,
      labels: { worker },
    },
    {
      name: 'zin_autoscale_current_workers',
      help: 'Current capacity in workers, as last seen by the leader',
      type: 'gauge',
      value: current,
      labels: { worker },
    },
    {
      name: 'zin_autoscale_backlog_jobs',
      help: 'Jobs ready to run, as last seen by the leader',
      type: 'gauge',
      value: backlog,
      labels: { worker },
    },
    ...(running === null
      ? []
      : [
          {
            name: 'zin_autoscale_running_jobs',
            help: 'Running jobs, as last seen by the leader',
            type: 'gauge' as const,
            value: running,
            labels: { worker },
          },
        ]),
  ])
}
