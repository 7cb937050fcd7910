import { Type } from 'zin'

const closed = { additionalProperties: false } as const
const text = Type.Union([Type.String({ description: 'ISO 8601' }), Type.Null()])
const whole = Type.Integer()
const maybeNumber = Type.Union([Type.Number(), Type.Null()])
const times = Type.Union([Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() }), Type.Null()])

export const queueName = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the queue' })
export const queueParams = Type.Object({ name: queueName })
export const jobParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 301, description: 'Id of the job, or <queue>:<id>' }) })
const queue = Type.Optional(queueName)
const include = Type.Optional(Type.Literal('payload', { description: 'payload: also the payloads; requires payload:read' }))
const page = Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })
const limit = Type.Integer({ minimum: 1, maximum: 100, default: 20 })
export const listed = ['active', 'failed', 'completed', 'waiting', 'delayed'] as const

export const jobQuery = Type.Object({ queue, include }, closed)
export const onlyQueue = Type.Object({ queue }, closed)
export const listQuery = Type.Object({ queue, include, page, limit }, closed)
export const searchQuery = Type.Object(
  {
    q: Type.String({ minLength: 1, maxLength: 200, description: 'Words, or name:…, error:… and id:…; every one has to match' }),
    queue,
    status: Type.Optional(Type.Union(listed.map((status) => Type.Literal(status)))),
    limit,
  },
  closed,
)
export const historyQuery = Type.Object(
  { tier: Type.Union([Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day')], { default: 'minute' }) },
  closed,
)

export const entry = Type.Object({
  size: Type.Integer({ description: 'Waiting, delayed, and waiting for children' }),
  active: whole,
  completed: Type.Integer({ description: 'Kept ones' }),
  failed: Type.Integer({ description: 'Kept ones' }),
  averageProcessingTime: Type.Number({ description: 'ms, over the last hour' }),
  waiting: whole,
  delayed: whole,
  waitingChildren: whole,
  paused: Type.Boolean(),
  oldestWaitingMs: maybeNumber,
  kept: whole,
  throughput: Type.Number({ description: 'Jobs per second' }),
  attempts: whole,
  failureRate: maybeNumber,
  processingTime: times,
})

export const statsResponse = Type.Object({
  totalQueues: whole,
  totalJobs: whole,
  activeJobs: whole,
  completedJobs: whole,
  failedJobs: whole,
  averageProcessingTime: Type.Number({ description: 'ms, over the last hour' }),
  throughput: Type.Number({ description: 'Jobs per second' }),
  queues: Type.Record(Type.String(), entry),
  oldestWaitingMs: maybeNumber,
  kept: whole,
  processingTime: times,
  sampledAt: Type.String({ description: 'ISO 8601' }),
})

export const historyResponse = Type.Object({
  queue: Type.String(),
  tier: Type.String(),
  points: Type.Array(
    Type.Object({
      at: Type.String({ description: 'Start, ISO 8601' }),
      size: whole,
      active: whole,
      oldestWaitingMs: maybeNumber,
      completed: whole,
      failed: whole,
      averageProcessingTime: Type.Number(),
      processingTime: times,
    }),
  ),
})

export const job = Type.Object({
  id: Type.String(),
  queue: Type.String(),
  status: Type.String({ description: 'waiting, processing, completed or failed' }),
  payload: Type.Unknown({ description: 'Null unless include=payload; text, the beginning of the JSON, when payloadTruncated' }),
  attempts: whole,
  maxAttempts: whole,
  createdAt: Type.String({ description: 'ISO 8601' }),
  startedAt: text,
  completedAt: text,
  failedAt: text,
  error: Type.Union([Type.String(), Type.Null()]),
  processingTime: maybeNumber,
  name: Type.String(),
  state: Type.String({ description: 'As BullMQ names it' }),
  priority: whole,
  readyAt: text,
  progress: Type.Unknown(),
  attemptsStarted: whole,
  stalls: whole,
  parent: Type.Union([Type.String(), Type.Null()]),
  payloadBytes: maybeNumber,
  payloadTruncated: Type.Boolean(),
  stacktrace: Type.Optional(Type.Array(Type.String())),
})

export const listResponse = Type.Object({
  jobs: Type.Array(job),
  pagination: Type.Object({ page: whole, limit: whole, total: whole, totalPages: whole }),
})

export const searchResponse = Type.Object({
  jobs: Type.Array(job),
  searched: Type.Object({ jobs: whole, of: whole, complete: Type.Boolean(), queues: whole }, { description: 'How far the search looked' }),
})

export const attemptsResponse = Type.Object({
  attempts: Type.Array(
    Type.Object({
      attempt: whole,
      outcome: Type.String({ description: 'completed, failed, lost, timedOut or cancelled' }),
      version: Type.Union([Type.String(), Type.Null()]),
      node: Type.Union([Type.String(), Type.Null()]),
      endedAt: Type.String({ description: 'ISO 8601' }),
      runMs: Type.Number(),
      waitMs: maybeNumber,
      error: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})

export const decisionsQuery = Type.Object({ page, limit }, closed)
export const decisionsResponse = Type.Object(
  { decisions: Type.Array(Type.Unknown()), pagination: Type.Object({ page: whole, limit: whole, total: whole, totalPages: whole }) },
  { description: 'As GET /api/decisions; empty without the plugin decisions' },
)

export const flowResponse = Type.Object({
  id: Type.String(),
  queue: Type.String(),
  root: Type.Object(
    { id: Type.String(), queue: Type.String(), name: Type.String(), status: Type.String() },
    { additionalProperties: true },
  ),
})

export const logsResponse = Type.Object({ logs: Type.Array(Type.String()), count: whole })

export const operationParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
export const bulkQuery = Type.Object(
  { wait: Type.Integer({ minimum: 0, maximum: 30_000, default: 1_000, description: 'How long to wait for the end, in ms' }) },
  closed,
)
export const bulkBody = Type.Object(
  {
    status: Type.Optional(
      Type.Union(
        [...listed, 'all' as const].map((status) => Type.Literal(status)),
        {
          description: 'Default of a retry: failed; of a cancel: waiting and delayed. A purge requires it',
        },
      ),
    ),
    olderThan: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 40 })], {
        description: 'Age in ms, or ISO 8601: jobs that ended before; those that have not, created before',
      }),
    ),
    maxAttempts: Type.Optional(Type.Integer({ minimum: 0, description: 'Jobs that made at most so many attempts' })),
    dryRun: Type.Optional(Type.Boolean()),
    confirm: Type.Optional(Type.String({ maxLength: 100, description: 'For a purge of all: the name of the queue' })),
  },
  closed,
)
const jobOptions = Type.Object(
  {
    delay: Type.Optional(Type.Integer({ minimum: 0, description: 'ms' })),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_097_152, description: 'BullMQ priority: 0 runs first' })),
    attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  },
  closed,
)
const jobName = Type.String({ minLength: 1, maxLength: 200 })
const jobData = Type.Optional(Type.Unknown())
export const addBody = Type.Object({ name: jobName, data: jobData, options: Type.Optional(jobOptions) }, closed)
export const duplicateBody = Type.Object({ name: Type.Optional(jobName), data: jobData, options: Type.Optional(jobOptions) }, closed)
export const addResponse = Type.Object({ ok: Type.Literal(true), id: Type.String(), queue: Type.String() })
export const pauseResponse = Type.Object({ ok: Type.Literal(true), queue: Type.String(), paused: Type.Boolean() })
export const actionResponse = Type.Object({ ok: Type.Literal(true), id: Type.String(), queue: Type.String(), outcome: Type.String() })
const operation = Type.Object(
  { id: Type.String(), action: Type.String(), queue: Type.String(), state: Type.String(), total: whole, looked: whole, changed: whole },
  { additionalProperties: true },
)
export const operationResponse = Type.Object({ ok: Type.Literal(true), operation })
export const bulkResponse = Type.Object({
  ok: Type.Literal(true),
  operation: Type.Optional(operation),
  dryRun: Type.Optional(Type.Boolean()),
  matching: Type.Optional(whole),
  complete: Type.Optional(Type.Boolean()),
  sample: Type.Optional(Type.Array(job)),
  message: Type.Optional(Type.String()),
})

export const graphqlBody = Type.Object(
  {
    query: Type.String({ minLength: 1, maxLength: 20_000 }),
    variables: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
    operationName: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()])),
    extensions: Type.Optional(Type.Unknown()),
  },
  closed,
)

export const alertsResponse = Type.Object({
  alerts: Type.Array(
    Type.Object({
      queue: Type.String(),
      rule: Type.String({ description: 'queue-size, oldest-waiting, processing-time or failure-rate' }),
      state: Type.String(),
      value: maybeNumber,
      threshold: Type.Number(),
      reason: Type.String(),
      at: Type.String({ description: 'Since when, ISO 8601' }),
    }),
  ),
})

const eventName = Type.Union([Type.Literal('job.completed'), Type.Literal('job.failed'), Type.Literal('queue.alert')])
const events = Type.Array(eventName, { minItems: 1, maxItems: 3, description: 'Default all' })
const endpointQueues = Type.Union([Type.Literal('*'), Type.Array(queueName, { minItems: 1, maxItems: 100 })], {
  description: 'Default: those that the credentials cover',
})
const description = Type.String({ maxLength: 200 })
export const endpointParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
export const endpointBody = Type.Object(
  {
    url: Type.String({ minLength: 8, maxLength: 2_000 }),
    events: Type.Optional(events),
    queues: Type.Optional(endpointQueues),
    description: Type.Optional(description),
  },
  closed,
)
export const endpointPatch = Type.Object(
  { events: Type.Optional(events), queues: Type.Optional(endpointQueues), description: Type.Optional(description) },
  closed,
)
const endpoint = Type.Object({
  id: Type.String(),
  channel: Type.String({ description: 'webhook, slack or email' }),
  target: Type.String({ description: 'The origin of the URL, which is not shown whole, or email addresses' }),
  events: Type.Array(Type.String()),
  queues: Type.Union([Type.Literal('*'), Type.Array(Type.String())]),
  rule: Type.Union([Type.String(), Type.Null()], { description: 'Of the action of an alert: the alert' }),
  description: Type.String(),
  source: Type.String({ description: 'options, alert or api' }),
  enabled: Type.Boolean(),
  disabled: Type.Union([Type.Object({ at: Type.String(), reason: Type.String() }), Type.Null()]),
  createdAt: Type.String({ description: 'Since when it receives events, ISO 8601' }),
  createdBy: Type.Unknown(),
  dropped: Type.Integer({ description: 'Events of the last 7 days that were not delivered, because too many waited' }),
})
export const endpointResponse = Type.Object({ ok: Type.Literal(true), webhook: endpoint })
export const endpointsResponse = Type.Object({ webhooks: Type.Array(endpoint) })
export const removedResponse = Type.Object({ ok: Type.Literal(true), id: Type.String() })
export const deliveriesQuery = Type.Object(
  {
    endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
    state: Type.Optional(Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('failed')])),
    limit,
  },
  closed,
)
export const deliveryParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) })
const delivery = {
  id: Type.String({ description: 'The webhook-id' }),
  endpoint: Type.String(),
  channel: Type.String(),
  event: Type.String(),
  queue: Type.String(),
  state: Type.String({ description: 'pending, delivered or failed' }),
  createdAt: Type.String(),
  endedAt: text,
  nextAt: text,
  attempts: whole,
  maxAttempts: whole,
  error: Type.Union([Type.String(), Type.Null()]),
  tries: Type.Array(
    Type.Object({ at: Type.String(), status: maybeNumber, ms: Type.Number(), error: Type.Union([Type.String(), Type.Null()]) }),
  ),
}
export const deliveriesResponse = Type.Object({
  deliveries: Type.Array(Type.Object(delivery)),
  searched: Type.Object({ jobs: whole, of: whole, complete: Type.Boolean() }, { description: 'How far the log was read' }),
})
export const deliveryResponse = Type.Object({ ...delivery, body: Type.String({ description: 'The body of the request' }) })
export const resentResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  resent: Type.String({ description: 'Its new webhook-id, or the same when it had failed' }),
})
