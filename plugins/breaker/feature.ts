import { Type } from 'zin'
import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `circuitBreaker`, with the rules that a worker overrides. */
export const circuitBreaker = defineWorkerFeature({
  plugin: 'breaker',
  feature: 'circuitBreaker',
  schema: Type.Object(
    {
      windowMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: 3_600_000 })),
      minimumJobs: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      failureRatio: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1 })),
      consecutiveFailures: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      openMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 86_400_000 })),
      maxOpenMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 86_400_000 })),
      probes: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      perJobName: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
})
