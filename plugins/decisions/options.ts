import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `decisions()`. */
export type DecisionsOptions = OptionsOf<typeof decisionsOptions>

export const decisionsOptions = defineOptions(
  Type.Object({
    keepDays: Type.Integer({ minimum: 1, maximum: 365, default: 30, description: 'Retention of decisions, in days' }),
    maxDecisions: Type.Integer({
      minimum: 1000,
      maximum: 10_000_000,
      default: 200_000,
      description: 'Maximum number of decisions in the database; the oldest beyond it are deleted',
    }),
  }),
)
