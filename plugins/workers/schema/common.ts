import { Type } from 'typebox'

/** Validated by the service, whose error codes are more specific than those of a schema. */
export const anything = (description: string) => Type.Optional(Type.Unknown({ description }))

export const literals = <const T extends string[]>(values: [...T]) => Type.Enum(values, { type: 'string' })

export const iso = Type.String({ description: 'ISO 8601' })

export const nameParams = Type.Object({ name: Type.String() })

export const jobParams = Type.Object({ name: Type.String(), id: Type.String({ minLength: 1, maxLength: 200 }) })

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

export const ok = Type.Literal(true)

export const state = literals(['stopped', 'starting', 'running', 'paused', 'stopping', 'FAILED', 'unknown'])

export const version = Type.String({ description: 'The version that takes new jobs' })

export const desiredVersion = Type.String({ description: 'The version that was activated last' })

export const rollout = Type.Optional(
  Type.Object(
    {
      version: Type.String(),
      state: literals(['rolling', 'halted']),
      taken: Type.Integer({ description: 'Nodes that run the version' }),
      of: Type.Integer({ description: 'Nodes that run the worker' }),
      node: Type.Optional(Type.String({ description: 'Where it halted' })),
      code: Type.Optional(Type.String()),
      error: Type.Optional(Type.String({ description: 'Why it halted' })),
      at: Type.Optional(iso),
    },
    { description: 'The rollout of desiredVersion, until every node runs it' },
  ),
)

export const scaled = Type.Optional(
  Type.Object(
    { concurrency: Type.Integer(), reason: Type.String(), at: iso },
    { description: 'Set while the worker is scaled; the configured concurrency is kept' },
  ),
)

export const worker = Type.Object({
  name: Type.String(),
  queueName: Type.String(),
  processor: Type.Union([Type.String(), Type.Null()], { description: 'Of the version; null: registered in code' }),
  healthCheck: Type.Union([Type.String(), Type.Null()]),
  concurrency: Type.Integer({ description: 'The configured number, in the record' }),
  scaled,
  activeStatus: Type.Boolean(),
  autoStart: Type.Union([Type.Boolean(), Type.Null()]),
  version,
  desiredVersion,
  features: Type.Record(Type.String(), Type.Boolean()),
  inactiveFeatures: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Features that are true while their plugin is not enabled, or a feature that they need is false',
    }),
  ),
  extensions: Type.Optional(Type.Record(Type.String(), Type.Object({}), { description: 'By plugin name' })),
  extensionVersions: Type.Optional(
    Type.Record(Type.String(), Type.Integer(), { description: 'Version of the schema with which each was written' }),
  ),
  infrastructure: Type.Object({ persistence: Type.Object({ driver: Type.String() }) }),
  rateLimit: Type.Union([Type.Object({ max: Type.Integer(), duration: Type.Integer() }), Type.Null()]),
  jobOptions: Type.Object({}),
  isolation: literals(['inline', 'thread', 'process']),
  placement: Type.Object({ nodes: Type.Union([Type.Literal('all'), Type.Integer()]), regions: Type.Optional(Type.Array(Type.String())) }),
  state,
  status: literals(['active', 'inactive']),
  desired: literals(['running', 'stopped']),
  stopped: Type.Optional(Type.Object({ by: Type.String(), at: iso }, { description: 'Who stopped it; absent if nobody has' })),
  paused: Type.Boolean(),
  monitored: Type.Boolean({ description: 'Whether its health checks should run' }),
  generation: Type.Integer(),
  observedGeneration: Type.Integer({ description: 'Lowest generation that all its nodes have applied' }),
  lastError: Type.Optional(Type.String()),
  failedOn: Type.Optional(Type.Array(Type.String())),
  rollout,
  createdAt: iso,
  updatedAt: iso,
})

export const operation = Type.Object({
  id: Type.String(),
  state: literals(['pending', 'applied', 'failed', 'halted']),
  generation: Type.Integer(),
  targets: Type.Array(Type.String(), { description: 'Nodes that should apply it' }),
  applied: Type.Array(Type.String(), { description: 'Nodes that have applied it' }),
  failed: Type.Array(Type.Object({ node: Type.String(), code: Type.String(), message: Type.String(), status: Type.Integer() })),
})

export const operationAnswer = Type.Object({ ok, message: Type.String(), worker, operation })

export const messageAnswer = Type.Object({ ok, message: Type.String() })
