import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `health()`. */
export type HealthOptions = OptionsOf<typeof healthOptions>

export const healthOptions = defineOptions(
  Type.Object({
    databaseTimeoutMs: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 2000,
      description: 'How long one run of the database check may take, in ms',
    }),
    database: Type.Union([Type.Literal('critical'), Type.Literal('degrade')], {
      default: 'critical',
      description: '`degrade`: a database that worked once and fails leaves readiness at 200, with its entry `unavailable`',
    }),
    cacheMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60_000,
        description: 'How long the result of a check is reused, in ms; a failure 250 ms at most. Default: 1000 in production, else 0',
      }),
    ),
    failAfter: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description: 'Failed runs in a row that make a check fail; the first run of all decides alone',
    }),
    passAfter: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description: 'Good runs in a row that make a failed check pass',
    }),
    showChecks: Type.Boolean({ default: false, description: 'Lists the readiness checks of other plugins in `dependencies`' }),
  }),
)
