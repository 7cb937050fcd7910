import { type TProperties, type TSchema, Type } from 'typebox'
import { catchUps, overlaps } from 'zin/plugins/queues'

// Documents for OpenAPI what the service validates. Its errors have a code for each field, so no schema rejects these values.

const dayMs = 86_400_000
const yearMs = 365 * dayMs

const object = (properties: TProperties, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) })
const orNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description })
const milliseconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum, description: 'ms' })
const oneOf = (values: string[], description?: string) =>
  Type.Enum(values, { type: 'string', ...(description !== undefined && { description }) })

const name = Type.String({ pattern: '^[a-zA-Z0-9_-]{3,50}$' })
const version = Type.String({ pattern: '^\\d{1,9}\\.\\d{1,9}\\.\\d{1,9}$', description: 'major.minor.patch' })
const processor = Type.String({
  minLength: 1,
  description:
    'File path under a processor root, or https URL; needs the permission workers:deploy. Optional when one is registered in code',
})
const healthCheck = Type.String({ minLength: 1, description: 'File path under a processor root; needs the permission workers:deploy' })
const attempts = Type.Integer({ minimum: 1, maximum: 100 })
const backoff = object({
  type: oneOf(['fixed', 'exponential']),
  delay: milliseconds(0, dayMs),
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: yearMs, description: 'Longest wait in ms, jitter included; default 86400000' })),
  jitter: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'Largest share of a wait that is left out at random; default 0' }),
  ),
})
const timeout = milliseconds(1, dayMs)

const changeable = {
  queueName: name,
  concurrency: Type.Integer({ minimum: 1, maximum: 1000, description: 'Parallel jobs on each node' }),
  activeStatus: Type.Boolean({ description: 'Default true; false: it takes no jobs' }),
  autoStart: orNull(Type.Boolean(), 'Whether it starts with the app; null: as WORKER_AUTO_START'),
  features: Type.Record(Type.String(), Type.Boolean(), { description: 'By feature name' }),
  extensions: Type.Record(Type.String(), orNull(Type.Object({}), 'In the shape that the feature of the plugin declares; null removes it'), {
    description: 'By plugin name',
  }),
  rateLimit: orNull(
    object({ max: Type.Integer({ minimum: 1, maximum: 100_000 }), duration: milliseconds(1, dayMs) }),
    'At most max jobs per duration, over all nodes and all workers of its queue; null: no limit',
  ),
  jobOptions: object(
    { attempts: Type.Optional(attempts), backoff: Type.Optional(backoff), timeout: Type.Optional(timeout) },
    'Defaults for jobs that set none',
  ),
  isolation: oneOf(
    ['inline', 'thread', 'process'],
    'Default inline; code from a URL runs in a process. Needs the permission workers:deploy',
  ),
  placement: object({
    nodes: Type.Optional(Type.Union([Type.Literal('all'), Type.Integer({ minimum: 1, maximum: 1000 })], { description: 'Default all' })),
    regions: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z0-9-]{3,20}$' }), { minItems: 1, maxItems: 20 })),
  }),
}

const infrastructure = object({
  driver: Type.Optional(oneOf(['redis', 'kvstore', 'embedded'])),
  redis: Type.Optional(object({ env: Type.Literal(true) }, 'The connection of the app')),
  persistence: Type.Optional(
    object({
      driver: Type.Optional(oneOf(['memory', 'kvstore', 'db', 'docstore', 'edge-sql'])),
      connection: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' })),
      table: Type.Optional(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$' })),
      keyPrefix: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_.:{}-]{1,100}$' })),
    }),
  ),
})

const optional = (properties: TProperties): TProperties =>
  Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, Type.Optional(schema)]))

const { queueName, ...others } = changeable
const create = object({ name, queueName, ...optional({ ...others, processor, healthCheck, version, infrastructure }) })
const update = object(optional(changeable))
const scale = object({
  concurrency: orNull(Type.Integer({ minimum: 1, maximum: 1000 }), 'Parallel jobs on each node; null: the number in the record'),
  reason: Type.Optional(Type.String({ maxLength: 500, description: 'Human-readable reason' })),
})
const register = object({ version, ...optional({ description: Type.String({ maxLength: 1000 }), processor, healthCheck }) })

const data = Type.Unknown({ description: 'Any JSON; default null' })
const options = {
  name: Type.String({ minLength: 1, maxLength: 100 }),
  priority: Type.Union([oneOf(['Critical', 'High', 'Normal', 'Low']), Type.Integer({ minimum: 0, maximum: 10 })], {
    description: 'Critical is 10, High 5, Normal 1, Low 0; higher runs first',
  }),
  attempts,
  backoff,
  timeout,
  subject: Type.String({ minLength: 1, maxLength: 200, description: 'The person or thing that the job is about, for data subject rights' }),
}
const delay = milliseconds(0, yearMs)
const jobId = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'While a job with this id is kept in the queue, also when it has ended, adding it again adds no second one',
})
const deduplicationId = Type.String({ minLength: 1, maxLength: 128 })
const deduplication = Type.Union([
  object({ id: deduplicationId, mode: Type.Optional(oneOf(['until-done', 'keep-latest'], 'Default until-done')) }),
  object({
    id: deduplicationId,
    mode: Type.Optional(oneOf(['ttl', 'debounce'], 'Default ttl')),
    ttl: Type.Integer({ minimum: 1, maximum: yearMs, description: 'ms: how long the id counts; for debounce, the quiet time' }),
  }),
])
const scheduleDeduplication = Type.Union([
  object({ id: deduplicationId, mode: Type.Optional(oneOf(['until-done'], 'Default until-done')) }),
  object({
    id: deduplicationId,
    mode: Type.Optional(oneOf(['ttl'], 'Default ttl')),
    ttl: Type.Integer({ minimum: 1, maximum: yearMs, description: 'ms: how long the id counts after a run has started' }),
  }),
])
const onFailure = oneOf(['fail', 'continue'])
const child = object({
  worker: name,
  ...optional({ data, options: object(optional({ ...options, delay, onFailure })) }),
  children: Type.Optional(Type.Array(Type.Object({}), { description: 'Jobs of the same shape, at most 10 levels and 1000 jobs in all' })),
})
const enqueue = object(
  optional({
    data,
    options: object(optional({ ...options, delay, deduplication, jobId })),
    children: Type.Array(child, {
      description: 'Jobs that must end before this one; with onFailure: continue, it runs although one has failed',
    }),
  }),
)
const time = Type.String({ format: 'date-time' })
const schedule = object(
  optional({
    pattern: Type.String({ maxLength: 200, description: 'Cron pattern of five fields, or six with seconds first; or pass every instead' }),
    every: milliseconds(1000, yearMs),
    tz: Type.String({ maxLength: 100, description: 'IANA time zone of the pattern, default UTC' }),
    startDate: time,
    endDate: time,
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Maximum number of jobs that it adds' }),
    overlap: oneOf([...overlaps], 'What a run does that is due while the previous one waits or runs, default allow'),
    catchUp: oneOf([...catchUps], 'Which runs of the last 24 h are made up that were missed while nothing was running, default one'),
    data,
    options: object(optional({ ...options, deduplication: scheduleDeduplication }), 'Options of each job'),
  }),
)

const named = Type.Object({ name })
const scheduled = Type.Object({ name, id: Type.String({ pattern: '^[A-Za-z0-9_.-]{1,100}$' }) })

/** By route. */
export const documented = {
  create: { body: create },
  update: { params: named, body: update },
  scale: { params: named, body: scale },
  register: { params: named, body: register },
  activate: { params: Type.Object({ name, version }) },
  enqueue: { params: named, body: enqueue },
  schedule: { params: scheduled, body: schedule },
  unschedule: { params: scheduled },
  job: { params: Type.Object({ name, id: Type.String({ minLength: 1, maxLength: 200 }) }) },
  named: { params: named },
}
