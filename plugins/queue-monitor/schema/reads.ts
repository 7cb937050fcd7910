import { Type } from 'zin'
import { closed, include, includeOfOne, limit, listed, maybeNumber, page, queue, text, times, whole } from './common.js'

export const jobQuery = Type.Object({ queue, include: includeOfOne }, closed)
export const listQuery = Type.Object({ queue, include, page, limit }, closed)
export const searchQuery = Type.Object(
  {
    q: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Words, name:…, error:…, id:… and data.<path>:… for declared fields; all must match',
    }),
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
  completed: Type.Integer({ description: 'Retained completed jobs' }),
  failed: Type.Integer({ description: 'Retained failed jobs' }),
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
  broken: Type.Optional(Type.Literal(true, { description: 'The queue could not be read although its store responds; counts are 0' })),
  reason: Type.Optional(Type.String({ description: 'What the store said about a broken queue' })),
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
  payload: Type.Unknown({
    description:
      'Null for callers without payload:read, and in lists unless include=payload; if payloadTruncated, the beginning of the JSON as text',
  }),
  attempts: whole,
  maxAttempts: whole,
  createdAt: Type.String({ description: 'ISO 8601' }),
  startedAt: text,
  completedAt: text,
  failedAt: text,
  error: Type.Union([Type.String(), Type.Null()]),
  processingTime: maybeNumber,
  name: Type.String(),
  state: Type.String({ description: 'BullMQ state' }),
  priority: Type.Union([whole, Type.Null()], { description: '10 (Critical) to 0 (Low); null if unset, which runs before all others' }),
  readyAt: text,
  progress: Type.Unknown(),
  attemptsStarted: whole,
  stalls: whole,
  parent: Type.Union([Type.String(), Type.Null()]),
  payloadBytes: maybeNumber,
  payloadTruncated: Type.Boolean(),
  withheld: Type.Boolean({
    description:
      'Whether error, stacktrace or progress are left out: they require payload:read, and a plugin may deny the view of encrypted ones',
  }),
  stacktrace: Type.Optional(Type.Array(Type.String())),
})

export const listResponse = Type.Object({
  jobs: Type.Array(job),
  pagination: Type.Object({ page: whole, limit: whole, total: whole, totalPages: whole }),
})

export const searchResponse = Type.Object({
  jobs: Type.Array(job),
  searched: Type.Object(
    {
      jobs: whole,
      of: whole,
      complete: Type.Boolean(),
      queues: whole,
      fields: Type.Array(Type.String(), { description: 'Declared fields whose index was searched; empty if jobs were scanned' }),
      since: Type.Union([Type.String(), Type.Null()], { description: 'The index contains only jobs added since then, ISO 8601' }),
      withoutErrors: Type.Optional(Type.Literal(true, { description: 'Errors were not searched: the caller may not see them' })),
    },
    { description: 'Coverage of the search' },
  ),
})

export const fieldsResponse = Type.Object({ queue: Type.String(), fields: Type.Array(Type.String()) })

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
    { description: 'Oldest first; of more than 50 the first 5 and the last 45' },
  ),
  total: Type.Integer({ description: 'How many attempts the job has had, including one that is running' }),
  omitted: Type.Integer({ description: 'How many of them were left out' }),
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

export const logsQuery = Type.Object(
  {
    queue,
    offset: Type.Integer({
      minimum: -1_000_000_000,
      maximum: 1_000_000_000,
      default: 0,
      description:
        'Number of the first line, from 0; it stays the same when older lines are dropped. Negative: that many lines from the end',
    }),
    limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 500 }),
  },
  closed,
)
export const logsResponse = Type.Object({
  logs: Type.Array(Type.String()),
  count: Type.Integer({ description: 'Number of stored lines' }),
  offset: Type.Integer({ description: 'Number of the first line in logs' }),
  dropped: Type.Integer({ description: 'How many of the oldest lines were dropped' }),
  ended: Type.Boolean({ description: 'Whether the job has completed or failed' }),
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
      at: Type.String({ description: 'When it was raised, ISO 8601' }),
    }),
  ),
})
