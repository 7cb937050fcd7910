import { Type } from 'typebox'

/** Options of `health()`. */
export interface HealthOptions {
  /** How long one run of the database check may take, in ms. */
  readonly databaseTimeoutMs: number
  /** Whether a database that fails after it worked once takes the app out of service. */
  readonly database: 'critical' | 'degrade'
  /** How long the result of a check is reused, in ms. Default: 1000 in production, else 0. A failure is reused 250 ms at most. */
  readonly cacheMs?: number
  /** Failed runs in a row that make a check fail. */
  readonly failAfter: number
  /** Good runs in a row that make a failed check pass. */
  readonly passAfter: number
  /** Adds the readiness checks of other plugins to `dependencies` of `/health/ready`. */
  readonly showChecks: boolean
}

export const healthOptions = {
  schema: Type.Object(
    {
      databaseTimeoutMs: Type.Integer({ minimum: 1, maximum: 60_000 }),
      database: Type.Union([Type.Literal('critical'), Type.Literal('degrade')]),
      cacheMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
      failAfter: Type.Integer({ minimum: 1, maximum: 100 }),
      passAfter: Type.Integer({ minimum: 1, maximum: 100 }),
      showChecks: Type.Boolean(),
    },
    { additionalProperties: false },
  ),
  defaults: { databaseTimeoutMs: 2000, database: 'critical', failAfter: 1, passAfter: 1, showChecks: false } as HealthOptions,
}
