import { type TSchema, Type } from 'typebox'

const timestamp = Type.String({ format: 'date-time' })
const uptime = Type.Number({ description: 'Seconds; 0 when unavailable' })
const dependency = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('unavailable'), Type.Literal('unconfigured')]),
  responseTime: Type.Integer({ description: 'Milliseconds' }),
})
const dependencies = Type.Object({ database: dependency, cache: Type.Optional(dependency) }, { additionalProperties: dependency })

const draft = Type.Object(
  {
    status: Type.Union([Type.Literal('pass'), Type.Literal('warn'), Type.Literal('fail')]),
    output: Type.Optional(Type.String()),
    checks: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Object({ status: Type.String(), time: timestamp })))),
  },
  { description: 'For requests that accept application/health+json' },
)

const orDraft = <S extends TSchema>(plain: S) => Type.Union([plain, draft])

export const overallResponse = {
  200: orDraft(
    Type.Object({
      status: Type.Literal('healthy'),
      timestamp,
      uptime,
      database: Type.Union([Type.Literal('connected'), Type.Literal('unconfigured')]),
      environment: Type.String(),
    }),
  ),
  503: orDraft(Type.Object({ status: Type.Literal('unhealthy'), timestamp, database: Type.Literal('disconnected'), error: Type.String() })),
}

export const liveResponse = { 200: orDraft(Type.Object({ status: Type.Literal('alive'), timestamp, uptime })) }

export const readyResponse = {
  200: orDraft(Type.Object({ status: Type.Literal('ready'), timestamp, environment: Type.String(), dependencies })),
  503: orDraft(
    Type.Object({ status: Type.Literal('not_ready'), timestamp, environment: Type.String(), dependencies, error: Type.String() }),
  ),
}

export const startupResponse = {
  200: orDraft(Type.Object({ status: Type.Literal('started'), timestamp, uptime })),
  503: orDraft(Type.Object({ status: Type.Literal('starting'), timestamp, uptime })),
}
