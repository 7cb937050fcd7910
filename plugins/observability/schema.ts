import { Type } from 'zin'

/** A page of metrics. */
export const metricsText = Type.String({ description: 'Prometheus text format 0.0.4, or OpenMetrics 1.0 if `Accept` names it' })
