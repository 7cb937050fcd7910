import type { MetricSample } from 'zin'
import { shareNow } from './machine.js'
import type { CanaryRecord } from './record.js'

/** Returns metrics of the active canaries known to this process. */
export function canaryMetrics(records: readonly CanaryRecord[]): readonly MetricSample[] {
  return records.flatMap((record): MetricSample[] => {
    const { canary: version, state, worker } = record
    return [
      {
        name: 'zin_canary_state',
        help: 'Active canaries with their version and state; always 1',
        type: 'gauge',
        value: 1,
        labels: { worker, version, state },
      },
      {
        name: 'zin_canary_traffic_ratio',
        help: 'Share of the jobs routed to the canary version, 0 to 1',
        type: 'gauge',
        value: shareNow(record),
        labels: { worker, version },
      },
    ]
  })
}
