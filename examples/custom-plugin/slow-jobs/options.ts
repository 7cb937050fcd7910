import { defineOptions, Type } from 'zin'

export const slowJobsOptions = defineOptions(
  Type.Object({
    thresholdMs: Type.Integer({ minimum: 0, default: 30_000, description: 'A job that takes this long or longer, in ms, is slow' }),
    keep: Type.Integer({ minimum: 1, default: 100, description: 'How many slow jobs are remembered; the oldest is forgotten first' }),
    refuseStartAt: Type.Integer({
      minimum: 1,
      default: 10,
      description: 'A worker with this many remembered slow jobs is not started',
    }),
  }),
)
