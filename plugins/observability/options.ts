import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `observability()`. */
export type ObservabilityOptions = OptionsOf<typeof observabilityOptions>

export const observabilityOptions = defineOptions(
  Type.Object({
    maxSeries: Type.Integer({
      minimum: 10,
      maximum: 100_000,
      default: 1000,
      description: 'Maximum number of series per metric and process; further ones are aggregated under the label value `other`',
    }),
    traceIntervalMs: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 5000,
      description: 'Maximum time before an ended span is sent, in ms',
    }),
    metricIntervalMs: Type.Integer({
      minimum: 100,
      maximum: 3_600_000,
      default: 60_000,
      description: 'Interval at which metrics are sent by OTLP, in ms',
    }),
  }),
)
