import { Type } from 'typebox'

/** Checked by the service, whose codes say more than a schema could. */
const anything = (description: string) => Type.Optional(Type.Unknown({ description }))
const literals = <const T extends readonly string[]>(values: T) => Type.Union(values.map((value) => Type.Literal(value)))
const iso = Type.String({ description: 'ISO 8601' })

export const nameParams = Type.Object({ name: Type.String() })
export const jobParams = Type.Object({ name: Type.String(), id: Type.String({ minLength: 1, maxLength: 200 }) })

export const listQuery = Type.Object(
  {
    page: Type.Integer({ minimum: 1, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 100 }),
    status: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('inactive')], { description: 'active: running' })),
    includeInactive: Type.Optional(Type.Boolean({ description: 'Also list workers whose activeStatus is false' })),
  },
  { additionalProperties: false },
)

export const waitQuery = Type.Object(
  {
    wait: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 10_000,
      description: 'How long to wait until it is applied, in ms; then 202',
    }),
  },
  { additionalProperties: false },
)

export const createBody = Type.Object({
  name: anything('3 to 50 letters, digits, "_" or "-"; required'),
  queueName: anything('Same pattern; required'),
  processor: anything(
    'File path under a processor root (needs the permission workers:deploy); may be left out when one is registered in code',
  ),
  concurrency: anything('Parallel jobs, 1 to 1000'),
  activeStatus: anything('Boolean, default true'),
  autoStart: anything('Boolean or null, default null'),
  version: anything('major.minor.patch, default 1.0.0'),
  features: anything('Booleans by feature name'),
  infrastructure: anything('{driver?, redis?: {env: true}, persistence?: {driver: memory | kvstore | db}}'),
  rateLimit: anything('{max, duration in ms}'),
  jobOptions: anything('{attempts?, backoff?: {type, delay in ms}}'),
})

export const enqueueBody = Type.Object(
  {
    data: anything('Any JSON; default null'),
    options: anything('{name?, priority?: Critical | High | Normal | Low | 0 to 10, attempts?, backoff?, delay? in ms}'),
  },
  { additionalProperties: false },
)

const ok = Type.Literal(true)
const state = literals(['stopped', 'starting', 'running', 'stopping', 'FAILED', 'unknown'])

const worker = Type.Object({
  name: Type.String(),
  queueName: Type.String(),
  processor: Type.Union([Type.String(), Type.Null()], { description: 'null: registered in code' }),
  concurrency: Type.Integer(),
  activeStatus: Type.Boolean(),
  autoStart: Type.Union([Type.Boolean(), Type.Null()]),
  version: Type.String(),
  features: Type.Record(Type.String(), Type.Boolean()),
  infrastructure: Type.Object({ persistence: Type.Object({ driver: Type.String() }) }),
  rateLimit: Type.Union([Type.Object({ max: Type.Integer(), duration: Type.Integer() }), Type.Null()]),
  jobOptions: Type.Object({}),
  state,
  status: literals(['active', 'inactive']),
  desired: literals(['running', 'stopped']),
  generation: Type.Integer(),
  lastError: Type.Optional(Type.String()),
  createdAt: iso,
  updatedAt: iso,
})

const metrics = {
  completed: Type.Integer(),
  failed: Type.Integer(),
  successRate: Type.Number({ minimum: 0, maximum: 1 }),
  avgDuration: Type.Number({ description: 'ms' }),
}
const counts = Type.Object({
  waiting: Type.Integer(),
  active: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer(),
  delayed: Type.Integer(),
})

export const workerAnswer = Type.Object({ ok, worker })
export const listAnswer = Type.Object({
  ok,
  workers: Type.Array(worker),
  pagination: Type.Object({ page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), totalPages: Type.Integer() }),
})
export const operationAnswer = Type.Object({
  ok,
  message: Type.String(),
  worker,
  operation: Type.Object({
    id: Type.String(),
    generation: Type.Integer(),
    targets: Type.Array(Type.String(), { description: 'Processes that should apply it' }),
    applied: Type.Array(Type.String(), { description: 'Processes that have' }),
  }),
})
export const messageAnswer = Type.Object({ ok, message: Type.String() })
export const statusAnswer = Type.Object({
  ok,
  status: Type.Object({
    name: Type.String(),
    state,
    version: Type.String(),
    health: Type.Integer({ minimum: 0, maximum: 100 }),
    queue: Type.String(),
    concurrency: Type.Integer(),
    metrics: Type.Object(metrics),
  }),
})
export const metricsAnswer = Type.Object({ ok, metrics: Type.Object({ ...metrics, counts }) })
export const enqueuedAnswer = Type.Object({ ok, job: Type.Object({ id: Type.String(), queue: Type.String() }) })
export const jobAnswer = Type.Object({
  ok,
  job: Type.Object({
    id: Type.String(),
    name: Type.String(),
    queue: Type.String(),
    status: literals(['waiting', 'active', 'completed', 'failed', 'delayed']),
    attempts: Type.Integer(),
    maxAttempts: Type.Integer(),
    createdAt: iso,
    startedAt: Type.Union([iso, Type.Null()]),
    finishedAt: Type.Union([iso, Type.Null()]),
    result: Type.Unknown(),
    error: Type.Union([Type.String(), Type.Null()]),
  }),
})
