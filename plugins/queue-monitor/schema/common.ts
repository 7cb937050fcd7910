import { Type } from 'zin'

export const closed = { additionalProperties: false } as const
export const text = Type.Union([Type.String({ description: 'ISO 8601' }), Type.Null()])
export const whole = Type.Integer()
export const maybeNumber = Type.Union([Type.Number(), Type.Null()])
export const times = Type.Union([Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() }), Type.Null()])

export const queueName = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the queue' })
export const queueParams = Type.Object({ name: queueName })
export const jobParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 301, description: 'Id of the job, or <queue>:<id>' }) })
export const queue = Type.Optional(queueName)
export const include = Type.Optional(Type.Literal('payload', { description: 'payload: include payloads; requires payload:read' }))
export const includeOfOne = Type.Optional(
  Type.Union([Type.Literal('payload'), Type.Literal('none'), Type.Literal('')], {
    description:
      'Default: the payload, if the caller has payload:read. payload: the same, and 403 without the permission. none, or empty: without the payload',
  }),
)
export const page = Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })
export const limit = Type.Integer({ minimum: 1, maximum: 100, default: 20 })
export const listed = ['active', 'failed', 'completed', 'waiting', 'delayed'] as const
export const onlyQueue = Type.Object({ queue }, closed)
