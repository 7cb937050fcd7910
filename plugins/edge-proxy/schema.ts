import { Type } from 'zin'

const params = Type.Optional(
  Type.Array(Type.Unknown(), { description: 'Strings, numbers, booleans, null, or tagged values', maxItems: 100 }),
)

const options = Type.Object({
  rowMode: Type.Optional(Type.Enum(['object', 'array'], { type: 'string' })),
  maxRows: Type.Optional(Type.Integer({ minimum: 1 })),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1 })),
  encoding: Type.Optional(Type.Enum(['typed', 'plain'], { type: 'string' })),
  idempotencyKey: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
})

const source = {
  statementId: Type.Optional(Type.String({ description: 'Id of a registered statement' })),
  sql: Type.Optional(Type.String({ description: 'One statement; requires EDGE_REMOTE_MODE=sql' })),
  params,
}

export const statementRequest = Type.Object({ ...source, options: Type.Optional(options) })

export const batchRequest = Type.Object({
  statements: Type.Array(Type.Object({ ...source, one: Type.Optional(Type.Boolean()) }), { minItems: 1, maxItems: 50 }),
  options: Type.Optional(options),
})

export const edgeResponse = Type.Object({ ok: Type.Literal(true) }, { additionalProperties: true })
