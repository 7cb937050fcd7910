import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `resources()`. */
export type ResourcesOptions = OptionsOf<typeof resourcesOptions>

const share = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: 1, default: 0.9, description })

export const resourcesOptions = defineOptions(
  Type.Object({
    intervalSeconds: Type.Integer({ minimum: 1, maximum: 300, default: 30, description: 'Seconds between two snapshots of a node' }),
    eventLoopUtilization: share('Alert when event loop utilization is above this share for 2 minutes'),
    eventLoopDelayMs: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 1_000,
      description: 'Alert when the 99th percentile of the event loop delay is above this, in ms',
    }),
    heap: share('Alert when more than this share of the heap limit is used'),
    containerMemory: share("Alert when more than this share of the container's memory limit is used"),
    forecastHours: Type.Number({
      minimum: 0.1,
      maximum: 168,
      default: 3,
      description: 'Alert when resident memory grows steadily and will reach its limit within this time, in hours',
    }),
  }),
)
