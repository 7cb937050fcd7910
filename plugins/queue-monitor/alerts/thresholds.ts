import type { QueueMonitorOptions } from '../options.js'
import type { AlertAction } from './actions.js'
import type { AlertRule } from './rules.js'

/** Returns the configured thresholds or their defaults, without those set to false. */
export function thresholdsIn({
  alerts = {},
}: QueueMonitorOptions['monitor']): readonly (readonly [rule: AlertRule, action: AlertAction])[] {
  const { failureRate = 0.05, oldestWaiting = false, processingTime = 30_000, queueSize = 1_000 } = alerts
  const given = { 'queue-size': queueSize, 'oldest-waiting': oldestWaiting, 'processing-time': processingTime, 'failure-rate': failureRate }
  return Object.entries(given).flatMap(([rule, one]) =>
    one === false ? [] : [[rule as AlertRule, typeof one === 'number' ? { threshold: one } : one] as const],
  )
}
