import { Type } from 'zin'
import { defineWorkerFeature } from 'zin/plugins/workers'

/** The feature `rateShaping`, and the part of a worker's record that goes with it. */
export const rateShaping = defineWorkerFeature({
  plugin: 'rate-shaper',
  feature: 'rateShaping',
  schema: Type.Object(
    {
      /** Field of the data: jobs that have the same value share a rate. */
      rateBy: Type.String({ minLength: 1, maxLength: 100 }),
      /** Jobs of one value that begin in a minute, over all processes. */
      perMinute: Type.Integer({ minimum: 1, maximum: 60_000, default: 60 }),
      /** Field of the data: of jobs that have the same value, one is done. */
      onceBy: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      /** How long it is remembered what was done, in ms. */
      rememberMs: Type.Integer({ minimum: 1000, maximum: 86_400_000, default: 600_000 }),
    },
    { additionalProperties: false },
  ),
})
