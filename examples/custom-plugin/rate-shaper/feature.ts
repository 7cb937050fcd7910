import { Type } from 'zin'
import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `rateShaping`, and its part of a worker's record. */
export const rateShaping = defineWorkerFeature({
  plugin: 'rate-shaper',
  feature: 'rateShaping',
  schema: Type.Object(
    {
      /** Data field; jobs with the same value share a rate. */
      rateBy: Type.String({ minLength: 1, maxLength: 100 }),
      /** Jobs per value that start in a minute, across all processes. */
      perMinute: Type.Integer({ minimum: 1, maximum: 60_000, default: 60 }),
      /** Data field; of the jobs with the same value, only one runs. */
      onceBy: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      /** How long a completed job counts as a duplicate, in ms. */
      rememberMs: Type.Integer({ minimum: 1000, maximum: 86_400_000, default: 600_000 }),
    },
    { additionalProperties: false },
  ),
})
