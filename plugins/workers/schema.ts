import { Type } from 'typebox'

/** Checked by the service, whose codes say more than a schema could. */
const anything = (description: string) => Type.Optional(Type.Unknown({ description }))
const literals = <const T extends string[]>(values: [...T]) => Type.Enum(values, { type: 'string' })
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
  name: Type.Unknown({ description: '3 to 50 letters, digits, "_" or "-"' }),
  queueName: Type.Unknown({ description: 'The same characters' }),
  processor: anything(
    'File path under a processor root, or https URL (needs the permission workers:deploy); may be left out when one is registered in code',
  ),
  healthCheck: anything('File path under a processor root (needs the permission workers:deploy)'),
  concurrency: anything('Parallel jobs, 1 to 1000'),
  activeStatus: anything('Boolean, default true'),
  autoStart: anything('Boolean or null, default null'),
  version: anything('major.minor.patch, default 1.0.0'),
  features: anything('Booleans by feature name'),
  extensions: anything('Objects by name of the plugin, as its feature declares them'),
  infrastructure: anything('{driver?, redis?: {env: true}, persistence?: {driver: memory | kvstore | db | docstore | edge-sql}}'),
  rateLimit: anything('{max, duration in ms}'),
  jobOptions: anything('{attempts?, backoff?: {type, delay in ms}, timeout? in ms}'),
  isolation: anything('inline (default), thread or process; code from a URL always runs in a process'),
  placement: anything('{nodes?: "all" (default) or a number of processes, regions?: [region]}'),
})

export const updateBody = Type.Object({
  queueName: anything('As at creation'),
  concurrency: anything('As at creation'),
  activeStatus: anything('As at creation; false stops it'),
  autoStart: anything('As at creation'),
  features: anything('As at creation'),
  extensions: anything('As at creation; a plugin that is left out keeps its part, null removes it'),
  rateLimit: anything('As at creation; null: none'),
  jobOptions: anything('As at creation'),
  isolation: anything('As at creation; needs the permission workers:deploy'),
  placement: anything('As at creation'),
})

export const scaleBody = Type.Object(
  {
    concurrency: anything('Jobs in parallel in each node, 1 to 1000; null: as many as the record says'),
    reason: anything('Why, at most 500 characters'),
  },
  { additionalProperties: false },
)

export const versionBody = Type.Object({
  version: Type.Unknown({ description: 'major.minor.patch' }),
  description: anything('At most 1000 characters'),
  processor: anything('File path or https URL; may be left out when one is registered in code as "<name>@<version>"'),
  healthCheck: anything('File path under a processor root'),
})

export const enqueueBody = Type.Object(
  {
    data: anything('Any JSON; default null'),
    options: anything(
      '{name?, priority?: Critical | High | Normal | Low | 0 to 10, attempts?, backoff?, delay? in ms, timeout? in ms, deduplication?: {id, ttl?}, subject?}',
    ),
    children: anything('Jobs that must be done before this one: [{worker, data?, options?, children?}]'),
  },
  { additionalProperties: false },
)

const ok = Type.Literal(true)
const state = literals(['stopped', 'starting', 'running', 'paused', 'stopping', 'FAILED', 'unknown'])

const version = Type.String({ description: 'The version that takes new jobs' })
const desiredVersion = Type.String({ description: 'The version that was activated last' })

const rollout = Type.Optional(
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

const scaled = Type.Optional(
  Type.Object(
    { concurrency: Type.Integer(), reason: Type.String(), at: iso },
    { description: 'What it was scaled to; the configured concurrency is kept' },
  ),
)

const worker = Type.Object({
  name: Type.String(),
  queueName: Type.String(),
  processor: Type.Union([Type.String(), Type.Null()], { description: 'Of the version; null: registered in code' }),
  healthCheck: Type.Union([Type.String(), Type.Null()]),
  concurrency: Type.Integer({ description: 'As configured in the record' }),
  scaled,
  activeStatus: Type.Boolean(),
  autoStart: Type.Union([Type.Boolean(), Type.Null()]),
  version,
  desiredVersion,
  features: Type.Record(Type.String(), Type.Boolean()),
  inactiveFeatures: Type.Optional(Type.Array(Type.String(), { description: 'Features that are true while their plugin is not enabled' })),
  extensions: Type.Optional(Type.Record(Type.String(), Type.Object({}), { description: 'By name of the plugin' })),
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
  paused: Type.Boolean(),
  monitored: Type.Boolean({ description: 'Whether its health checks should run' }),
  generation: Type.Integer(),
  observedGeneration: Type.Integer({ description: 'Lowest generation that all its nodes have applied' }),
  lastError: Type.Optional(Type.String()),
  rollout,
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
const operation = Type.Object({
  id: Type.String(),
  state: literals(['pending', 'applied', 'failed', 'halted']),
  generation: Type.Integer(),
  targets: Type.Array(Type.String(), { description: 'Nodes that should apply it' }),
  applied: Type.Array(Type.String(), { description: 'Nodes that have applied it' }),
  failed: Type.Array(Type.Object({ node: Type.String(), code: Type.String(), message: Type.String(), status: Type.Integer() })),
})
export const operationAnswer = Type.Object({ ok, message: Type.String(), worker, operation })
export const operationStateAnswer = Type.Object({ ok, operation })
export const messageAnswer = Type.Object({ ok, message: Type.String() })
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
const versionRecord = Type.Object({
  version: Type.String(),
  description: Type.String(),
  processor: Type.Union([Type.String(), Type.Null()]),
  healthCheck: Type.Union([Type.String(), Type.Null()]),
  state: literals(['registered', 'activating', 'active', 'refused', 'draining', 'drained']),
  nodes: Type.Array(Type.String()),
  busy: Type.Integer(),
  createdAt: iso,
  activatedAt: Type.Union([iso, Type.Null()]),
  refused: Type.Optional(
    Type.Object(
      {
        by: Type.String({ description: 'The plugin; workers: its rollout halted' }),
        reason: Type.String(),
        evidence: Type.Optional(Type.Object({}, { additionalProperties: true })),
        at: iso,
      },
      { description: 'Why it must not run, until it is activated again' },
    ),
  ),
})
export const versionAnswer = Type.Object({ ok, version: versionRecord })
export const versionsAnswer = Type.Object({ ok, versions: Type.Array(versionRecord) })
export const nodesAnswer = Type.Object({
  ok,
  nodes: Type.Array(
    Type.Object({
      id: Type.String(),
      host: Type.String(),
      pid: Type.Integer(),
      region: Type.String(),
      consumes: Type.Boolean(),
      startedAt: iso,
      alive: Type.Boolean(),
      leaseUntil: iso,
      leaseMs: Type.Integer({ description: 'ms until its lease ends' }),
    }),
  ),
})
export const countsQuery = Type.Object(
  {
    minutes: Type.Integer({ minimum: 1, maximum: 1_440, default: 60, description: 'Time range before now' }),
    byMinute: Type.Boolean({ default: false, description: 'One entry for each minute with attempts' }),
    byVersion: Type.Boolean({ default: false, description: 'One entry for each version' }),
  },
  { additionalProperties: false },
)
const msOrNull = Type.Union([Type.Number(), Type.Null()], { description: 'ms; null: nothing ran' })
export const countsAnswer = Type.Object({
  ok,
  minutes: Type.Integer(),
  counts: Type.Array(
    Type.Object({
      minute: Type.Optional(iso),
      version: Type.Optional(Type.String()),
      completed: Type.Integer(),
      failed: Type.Integer(),
      lost: Type.Integer({ description: 'Of the failed: stalled, or their child process died' }),
      timedOut: Type.Integer({ description: 'Of the failed' }),
      cancelled: Type.Integer(),
      avgMs: msOrNull,
      p50Ms: msOrNull,
      p95Ms: msOrNull,
    }),
  ),
})
export const metricsAnswer = Type.Object({ ok, metrics: Type.Object({ ...metrics, counts }) })
export const enqueuedAnswer = Type.Object({ ok, job: Type.Object({ id: Type.String(), queue: Type.String() }) })
export const cancelledAnswer = Type.Object({
  ok,
  message: Type.String(),
  outcome: literals(['removed', 'failed', 'cancelled', 'orphaned']),
})
export const jobAnswer = Type.Object({
  ok,
  job: Type.Object({
    id: Type.String(),
    name: Type.String(),
    queue: Type.String(),
    status: literals(['waiting', 'active', 'completed', 'failed', 'delayed']),
    priority: Type.Union([Type.Integer(), Type.Null()]),
    attempts: Type.Integer(),
    maxAttempts: Type.Integer(),
    stalls: Type.Integer({ description: 'How often the job stalled' }),
    progress: Type.Unknown(),
    createdAt: iso,
    startedAt: Type.Union([iso, Type.Null()]),
    finishedAt: Type.Union([iso, Type.Null()]),
    result: Type.Unknown(),
    error: Type.Union([Type.String(), Type.Null()]),
  }),
})

export const scheduleParams = Type.Object({ name: Type.String(), id: Type.String({ minLength: 1, maxLength: 200 }) })
export const scheduleBody = Type.Object(
  {
    pattern: anything('Cron pattern of five or six fields; either this or every'),
    every: anything('ms, at least 1000'),
    tz: anything('IANA time zone of the pattern, default UTC'),
    startDate: anything('ISO 8601'),
    endDate: anything('ISO 8601'),
    limit: anything('Most jobs it adds'),
    data: anything('Any JSON; default null'),
    options: anything('{name?, priority?, attempts?, backoff?, timeout?} of each job'),
  },
  { additionalProperties: false },
)
const schedule = Type.Object({
  id: Type.String(),
  worker: Type.String(),
  name: Type.String(),
  pattern: Type.Optional(Type.String()),
  every: Type.Optional(Type.Integer()),
  tz: Type.Optional(Type.String()),
  startDate: Type.Optional(iso),
  endDate: Type.Optional(iso),
  limit: Type.Optional(Type.Integer()),
  nextAt: Type.Union([iso, Type.Null()]),
})
export const scheduleAnswer = Type.Object({ ok, schedule })
export const schedulesAnswer = Type.Object({ ok, schedules: Type.Array(schedule) })
export const cancelBody = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 200, description: 'Reason of the abort signal' })) },
  { additionalProperties: false },
)
export const activateQuery = Type.Object(
  {
    ...waitQuery.properties,
    force: Type.Boolean({ default: false, description: 'Also a version that a plugin refused' }),
  },
  { additionalProperties: false },
)
export const versionParams = Type.Object({ name: Type.String(), version: Type.String({ maxLength: 40 }) })
export const eventsQuery = Type.Object(
  { worker: Type.Optional(Type.String({ description: 'Only events of this worker' })) },
  { additionalProperties: false },
)
