import { Type } from 'typebox'
import { anything, desiredVersion, iso, ok, operation, rollout, scaled, state, version, worker } from './common.js'

export const listQuery = Type.Object(
  {
    page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 100 }),
    status: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('inactive')], { description: 'active: running' })),
    includeInactive: Type.Optional(Type.Boolean({ description: 'Also list workers whose activeStatus is false' })),
  },
  { additionalProperties: false },
)

export const createBody = Type.Object({
  name: Type.Unknown({ description: '3 to 50 letters, digits, "_" or "-"' }),
  queueName: Type.Unknown({ description: 'The same characters' }),
  processor: anything(
    'File path under a processor root, or https URL (needs the permission workers:deploy); optional when one is registered in code',
  ),
  healthCheck: anything('File path under a processor root (needs the permission workers:deploy)'),
  concurrency: anything('Parallel jobs on each node, 1 to 1000'),
  activeStatus: anything('Boolean, default true'),
  autoStart: anything('Boolean or null, default null'),
  version: anything('major.minor.patch, default 1.0.0'),
  features: anything('Booleans by feature name'),
  extensions: anything('Objects by plugin name, in the shape that its feature declares'),
  infrastructure: anything('{driver?, redis?: {env: true}, persistence?: {driver: memory | kvstore | db | docstore | edge-sql}}'),
  rateLimit: anything('{max, duration in ms}'),
  jobOptions: anything('{attempts?, backoff?: {type, delay in ms}, timeout? in ms}'),
  isolation: anything('inline (default), thread or process; code from a URL always runs in a process'),
  placement: anything('{nodes?: "all" (default) or a number of nodes, regions?: [region]}'),
})

export const updateBody = Type.Object({
  queueName: anything('As at creation'),
  concurrency: anything('As at creation'),
  activeStatus: anything('As at creation; false stops it'),
  autoStart: anything('As at creation'),
  features: anything('As at creation'),
  extensions: anything('As at creation; an omitted plugin keeps its part, null removes it'),
  rateLimit: anything('As at creation; null: none'),
  jobOptions: anything('As at creation'),
  isolation: anything('As at creation; needs the permission workers:deploy'),
  placement: anything('As at creation'),
})

export const scaleBody = Type.Object(
  {
    concurrency: anything('Parallel jobs on each node, 1 to 1000; null: the number in the record'),
    reason: anything('Human-readable reason, at most 500 characters'),
  },
  { additionalProperties: false },
)

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

export const operationStateAnswer = Type.Object({ ok, operation })

export const statusAnswer = Type.Object({
  ok,
  status: Type.Object({
    name: Type.String(),
    state,
    version,
    desiredVersion,
    health: Type.Integer({ minimum: 0, maximum: 100 }),
    queue: Type.String(),
    queuePaused: Type.Union([Type.Boolean(), Type.Null()], {
      description: 'Whether the whole queue is paused, by a queue tool; null: the queue store does not respond',
    }),
    concurrency: Type.Integer({ description: 'Effective concurrency: the scaled one, else that of the record' }),
    scaled,
    rollout,
    metrics: Type.Object(metrics),
  }),
})

export const workerNodesAnswer = Type.Object({
  ok,
  nodes: Type.Array(
    Type.Object({
      node: Type.String(),
      state,
      observedGeneration: Type.Integer(),
      placed: Type.Boolean(),
      version: Type.Union([Type.String(), Type.Null()]),
      awaits: Type.Optional(Type.String({ description: 'The version that was activated and does not run here yet' })),
      draining: Type.Record(Type.String(), Type.Integer()),
      candidates: Type.Optional(
        Type.Array(Type.Object({ version: Type.String(), busy: Type.Integer(), error: Type.Optional(Type.String()) })),
      ),
      concurrency: Type.Integer(),
      busy: Type.Integer(),
      error: Type.Optional(Type.String()),
      at: iso,
    }),
  ),
})

export const metricsAnswer = Type.Object({ ok, metrics: Type.Object({ ...metrics, counts }) })
