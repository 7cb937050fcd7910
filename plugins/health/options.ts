import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `health()`. */
export type HealthOptions = OptionsOf<typeof healthOptions>

export const healthOptions = defineOptions(
  Type.Object({
    databaseTimeoutMs: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 2000,
      description: 'Timeout of one run of the database check, in ms',
    }),
    database: Type.Union([Type.Literal('critical'), Type.Literal('degrade')], {
      default: 'critical',
      description: '`degrade`: when a database fails after it has worked once, readiness stays at 200, with its entry `unavailable`',
    }),
    cacheMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60_000,
        description: 'How long the result of a check is reused, in ms; a failure at most 250 ms. Default: 1000 in production, otherwise 0',
      }),
    ),
    failAfter: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description: 'Consecutive failed runs after which a check fails; the very first run counts immediately',
    }),
    passAfter: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description: 'Consecutive successful runs after which a failed check passes',
    }),
    showChecks: Type.Boolean({ default: false, description: 'Lists the readiness checks of other plugins in `dependencies`' }),
  }),
)
