import { defineOptions, type OptionsOf, Type } from 'zin'
import { topologySchema } from './regions/topology.js'

/** Options of `autoscale()`. */
export type AutoscaleOptions = OptionsOf<typeof autoscaleOptions>

export const autoscaleOptions = defineOptions(
  Type.Object({
    timeZone: Type.String({
      default: 'UTC',
      minLength: 1,
      maxLength: 100,
      description: 'Time zone of `WORKER_OFF_PEAK_SCHEDULE`, such as `Europe/Berlin`',
    }),
    drainSeconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 60,
      description: 'Time within which a backlog should be processed, and how long a job may wait before a worker is added, in seconds',
    }),
    stabilizationSeconds: Type.Integer({
      minimum: 0,
      maximum: 3_600,
      default: 300,
      description: 'Workers are removed only down to the highest need within this time, in seconds',
    }),
    graceSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      default: 30,
      description:
        'How long a process goes on with its jobs when the platform ends it, in seconds: the smallest of `terminationGracePeriodSeconds`, `shutdown.deadlineMs` and `WORKER_TIMEOUT`',
    }),
    regions: Type.Optional(
      Type.Object(topologySchema.properties, {
        additionalProperties: false,
        description: '`{primary, secondaries}`: regions of workers with `features.datacenter` that define no regions themselves',
      }),
    ),
    failoverSeconds: Type.Integer({
      minimum: 0,
      maximum: 3_600,
      default: 15,
      description:
        'How long a region must have been lost before its workers leave it, in addition to the leases of its processes, in seconds',
    }),
    returnSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      default: 60,
      description: 'How long a region must have been available again before its workers return to it, in seconds',
    }),
  }),
)
