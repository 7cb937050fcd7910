import { Type } from 'zin'

const ok = Type.Literal(true)
const iso = Type.String({ description: 'ISO 8601' })
const orNull = Type.Union([Type.Number(), Type.Null()])
export const historyQuery = Type.Object(
  {
    hours: Type.Integer({
      minimum: 1,
      maximum: 720,
      default: 24,
      description: 'Time range in hours before now; above 24, one point per five minutes is returned',
    }),
    node: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Only this node' })),
    limit: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 3_000,
      description: 'Maximum number of snapshots; the newest are returned',
    }),
  },
  { additionalProperties: false },
)
const alert = { rule: Type.String(), since: iso, value: Type.Number(), threshold: Type.Number(), reason: Type.String() }
const snapshot = Type.Object({
  node: Type.String({ description: 'Node that the values belong to' }),
  at: iso,
  spanMs: Type.Number({ description: 'Time that the snapshot covers, in ms' }),
  eventLoopUtilization: Type.Number({ description: '0–1' }),
  eventLoopDelayP50Ms: orNull,
  eventLoopDelayP99Ms: orNull,
  cpuCores: Type.Number(),
  cpuLimit: Type.Number(),
  rss: Type.Number({ description: 'Bytes' }),
  heapUsed: Type.Number({ description: 'Bytes' }),
  heapLimit: Type.Number({ description: 'Bytes' }),
  external: Type.Number({ description: 'Bytes' }),
  gcMs: orNull,
  memoryLimit: Type.Number({ description: 'Bytes' }),
  containerMemory: orNull,
  throttledMs: orNull,
  storeMs: orNull,
  alerts: Type.Array(Type.Object(alert)),
})
const monitoring = Type.Object({ running: Type.Boolean(), reason: Type.String() })
export const currentResponse = Type.Object({ ok, monitoring, current: Type.Array(snapshot) })
export const historyResponse = Type.Object({
  ok,
  hours: Type.Integer(),
  resolution: Type.Union([Type.Literal('fine'), Type.Literal('coarse')]),
  truncated: Type.Boolean(),
  history: Type.Array(snapshot),
})
export const alertsResponse = Type.Object({
  ok,
  alerts: Type.Array(Type.Object({ node: Type.String(), ...alert })),
  recent: Type.Array(
    Type.Object(
      { id: Type.String(), at: iso, subject: Type.String(), verdict: Type.String(), reason: Type.String() },
      { additionalProperties: true },
    ),
  ),
})
export const trendsResponse = Type.Object({
  ok,
  trends: Type.Array(
    Type.Object({
      node: Type.String(),
      metric: Type.String(),
      level: Type.Number(),
      perHour: Type.Number(),
      direction: Type.String(),
      limit: Type.Optional(Type.Number()),
      limitInMs: Type.Optional(Type.Number()),
      forecast: Type.Optional(Type.String()),
    }),
  ),
})
export const messageResponse = Type.Object({ ok, message: Type.String() })
