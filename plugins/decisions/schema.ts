import { Type } from 'zin'

const iso = Type.String({ description: 'ISO 8601' })
const subject = Type.Optional(Type.String({ description: '<type>:<id>, such as worker:email-sender' }))
const kind = Type.Optional(Type.String({ description: 'canary, scale, breaker, failover, alert, restart, or a kind defined by a plugin' }))

export const listQuery = Type.Object(
  {
    subject,
    kind,
    since: Type.Optional(Type.String({ description: 'ISO 8601 or ms since 1970, inclusive' })),
    page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 100 }),
  },
  { additionalProperties: false },
)

export const eventsQuery = Type.Object({ subject, kind }, { additionalProperties: false })

const decision = Type.Object({
  id: Type.String({ description: 'UUID version 7' }),
  at: iso,
  kind: Type.String(),
  subject: Type.String(),
  verdict: Type.String(),
  acted: Type.Boolean({ description: 'False in a dry run' }),
  reason: Type.String(),
  inputs: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Inputs of the rule' })),
  rule: Type.String({ description: '<plugin>/<rule>' }),
  actor: Type.Object({ kind: Type.String(), id: Type.String(), device: Type.Optional(Type.String()), via: Type.String() }),
  links: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'API paths by name' })),
})

export const listResponse = Type.Object({
  ok: Type.Literal(true),
  decisions: Type.Array(decision, { description: 'Newest first' }),
  pagination: Type.Object({ page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), totalPages: Type.Integer() }),
})
