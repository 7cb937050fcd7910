import { Type } from 'typebox'
import { catchUps, overlaps } from 'zin/plugins/queues'
import { anything, iso, literals, ok } from './common.js'

export const enqueueBody = Type.Object(
  {
    data: anything('Any JSON; default null'),
    options: anything(
      '{name?, priority?: Critical | High | Normal | Low | 0 to 10, attempts?, backoff?: {type, delay, max?, jitter?}, delay? in ms, timeout? in ms, deduplication?: {id, mode?, ttl?}, jobId?, subject?}',
    ),
    children: anything(
      'Jobs that must end before this one: [{worker, data?, options?, children?}]; their options may have onFailure?: fail | continue',
    ),
  },
  { additionalProperties: false },
)

const deduplicated = Type.Boolean({
  description: 'Whether nothing was added, because a job with the same jobId or deduplication id exists: id is its id',
})
export const enqueuedAnswer = Type.Object({
  ok,
  deduplicated,
  job: Type.Object({ id: Type.String(), queue: Type.String(), deduplicated }),
})

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
    withheld: Type.Boolean({ description: 'Whether result, error and progress are left out: they require payload:read' }),
  }),
})

export const scheduleParams = Type.Object({ name: Type.String(), id: Type.String({ minLength: 1, maxLength: 200 }) })

export const scheduleBody = Type.Object(
  {
    pattern: anything('Cron pattern of five or six fields; pass either this or every'),
    every: anything('ms, at least 1000'),
    tz: anything('IANA time zone of the pattern, default UTC'),
    startDate: anything('ISO 8601; a run that is due then is the first one'),
    endDate: anything('ISO 8601; a run that is due then is the last one'),
    limit: anything('Maximum number of jobs that it adds'),
    overlap: anything('When the previous run still waits or runs: allow (default), skip, or queue to wait for its end'),
    catchUp: anything('Which runs of the last 24 h are made up that were missed while nothing was running: none, one (default) or all'),
    data: anything('Any JSON; default null'),
    options: anything('{name?, priority?, attempts?, backoff?, timeout?, deduplication?} of each job'),
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
  overlap: literals([...overlaps]),
  catchUp: literals([...catchUps]),
  nextAt: Type.Union([iso, Type.Null()]),
})

export const scheduleAnswer = Type.Object({ ok, schedule })

export const schedulesAnswer = Type.Object({ ok, schedules: Type.Array(schedule) })

export const cancelBody = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 200, description: 'Reason, passed to the abort signal' })) },
  { additionalProperties: false },
)
