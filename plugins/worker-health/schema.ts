import { Type } from 'zin'

const ok = Type.Literal(true)
const iso = Type.String({ description: 'ISO 8601' })
export const nameParams = Type.Object({ name: Type.String() })
export const historyQuery = Type.Object(
  {
    hours: Type.Integer({ minimum: 1, maximum: 8760, default: 24, description: 'Time range, in hours before now' }),
    limit: Type.Integer({ minimum: 1, maximum: 5000, default: 1000, description: 'Maximum number of samples; the newest are returned' }),
  },
  { additionalProperties: false },
)
export const waitQuery = Type.Object(
  {
    wait: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 10_000,
      description: 'How long to wait until every node has applied the change, in ms; then 202',
    }),
  },
  { additionalProperties: false },
)
const term = Type.Object({
  name: Type.String(),
  penalty: Type.Integer(),
  reason: Type.String(),
  plugin: Type.Optional(Type.String({ description: 'The plugin that adds the penalty; absent: workers' })),
})
const check = Type.Object({
  node: Type.String(),
  healthy: Type.Boolean(),
  failures: Type.Integer({ description: 'Consecutive failures' }),
  durationMs: Type.Integer(),
  error: Type.Optional(Type.String()),
  details: Type.Optional(Type.Unknown()),
  at: iso,
})
export const healthResponse = Type.Object({
  ok,
  health: Type.Object({
    name: Type.String(),
    score: Type.Integer({ minimum: 0, maximum: 100 }),
    terms: Type.Array(term),
    monitored: Type.Boolean(),
    checks: Type.Array(check),
  }),
})
export const historyResponse = Type.Object({
  ok,
  hours: Type.Integer(),
  history: Type.Array(
    Type.Object({
      node: Type.String(),
      at: iso,
      healthy: Type.Boolean(),
      score: Type.Integer(),
      durationMs: Type.Integer(),
      error: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})
export const monitoringResponse = Type.Object({
  ok,
  message: Type.String(),
  worker: Type.Object({ name: Type.String(), state: Type.String() }, { additionalProperties: true }),
  operation: Type.Object(
    { id: Type.String(), generation: Type.Integer(), targets: Type.Array(Type.String()), applied: Type.Array(Type.String()) },
    { additionalProperties: true },
  ),
})
