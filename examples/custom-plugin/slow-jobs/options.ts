import { defineOptions, Type } from 'zin'

export const slowJobsOptions = defineOptions(
  Type.Object({
    thresholdMs: Type.Integer({ minimum: 0, default: 30_000, description: 'A job that takes at least this long is slow, in ms' }),
    keep: Type.Integer({ minimum: 1, default: 100, description: 'How many slow jobs are kept; the oldest is dropped first' }),
    refuseStartAt: Type.Integer({
      minimum: 1,
      default: 10,
      description: 'A worker with this many recorded slow jobs is not started',
    }),
  }),
)
