import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `breaker()`. */
export type BreakerOptions = OptionsOf<typeof breakerOptions>

export const breakerOptions = defineOptions(
  Type.Object({
    windowMs: Type.Integer({ minimum: 1000, maximum: 3_600_000, default: 60_000, description: 'Time over which jobs are counted, in ms' }),
    minimumJobs: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 10,
      description: 'Minimum number of jobs in that time for the ratio to apply',
    }),
    failureRatio: Type.Number({ minimum: 0.01, maximum: 1, default: 0.5, description: 'Share of failed jobs that opens the circuit' }),
    consecutiveFailures: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 5,
      description: 'Number of different jobs that fail in a row before the circuit opens',
    }),
    openMs: Type.Integer({
      minimum: 100,
      maximum: 86_400_000,
      default: 30_000,
      description: 'How long the circuit is open the first time, in ms; doubles each time a probe fails',
    }),
    maxOpenMs: Type.Integer({
      minimum: 100,
      maximum: 86_400_000,
      default: 600_000,
      description: 'Maximum time that the circuit is open, in ms',
    }),
    probes: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 3,
      description: 'Jobs that run as probes while the circuit is half-open, across all nodes; all must succeed',
    }),
    perJobName: Type.Boolean({ default: false, description: 'Whether each job name of a worker has its own circuit' }),
  }),
)
