import { Type } from 'zin'

/** Pattern for the names of services and domains. */
export const slugPattern = '^[a-z][a-z0-9]*(-[a-z0-9]+)*$'
const slug = { pattern: slugPattern, maxLength: 50 }
const version = '^\\d+\\.\\d+\\.\\d+(?:[-+][0-9A-Za-z.+-]+)?$'

/** Schema of service.config.json. */
export const serviceConfig = Type.Object(
  {
    name: Type.String(slug),
    domain: Type.Optional(Type.String(slug)),
    version: Type.Optional(Type.String({ pattern: version, maxLength: 100 })),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
    dependencies: Type.Optional(Type.Array(Type.String(slug), { maxItems: 200, uniqueItems: true })),
    healthCheck: Type.Optional(Type.String({ maxLength: 200 })),
    database: Type.Optional(
      Type.Object(
        { isolation: Type.Optional(Type.Enum(['shared', 'isolated'], { type: 'string' })), migrations: Type.Optional(Type.Boolean()) },
        { additionalProperties: false },
      ),
    ),
    auth: Type.Optional(
      Type.Object(
        { strategy: Type.Enum(['api-key', 'jwt', 'none', 'custom', 'signed'], { type: 'string' }) },
        { additionalProperties: false },
      ),
    ),
    tracing: Type.Optional(
      Type.Object(
        { enabled: Type.Optional(Type.Boolean()), samplingRate: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

const state = Type.Enum(['registered', 'starting', 'running', 'unhealthy', 'draining', 'stopped', 'failed'], { type: 'string' })

const service = Type.Object({
  name: Type.String(),
  domain: Type.String(),
  version: Type.String(),
  description: Type.String(),
  source: Type.Enum(['discovered', 'registered'], { type: 'string' }),
  state,
  dependencies: Type.Array(Type.String()),
  healthCheck: Type.String(),
  auth: Type.Enum(['api-key', 'jwt', 'none', 'custom', 'signed'], { type: 'string' }),
  database: Type.Object({ isolation: Type.Enum(['shared', 'isolated'], { type: 'string' }), migrations: Type.Boolean() }),
  tracing: Type.Object({ enabled: Type.Boolean(), samplingRate: Type.Number() }),
  instances: Type.Array(
    Type.Object({
      id: Type.String(),
      url: Type.String(),
      state,
      circuit: Type.Enum(['closed', 'open', 'half-open'], { type: 'string' }),
      inFlight: Type.Integer(),
      restarts: Type.Integer(),
      pid: Type.Optional(Type.Integer()),
      retry: Type.Optional(Type.Object({ attempt: Type.Integer(), of: Type.Integer(), at: Type.String() })),
      reason: Type.Optional(Type.String()),
    }),
  ),
})

export const nameParams = Type.Object({ name: Type.String() })
export const listResponse = Type.Object({ services: Type.Array(service) })
export const serviceResponse = Type.Object({ ok: Type.Literal(true), service })

export const callBody = Type.Object(
  {
    method: Type.Optional(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], { type: 'string' })),
    path: Type.String({ maxLength: 8000 }),
    timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
)

export const callResponse = Type.Object({
  status: Type.Integer(),
  headers: Type.Record(Type.String(), Type.Unknown()),
  data: Type.Optional(Type.Unknown({ description: 'Parsed if it is JSON; bytes as base64' })),
})
