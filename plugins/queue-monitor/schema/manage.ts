import { Type } from 'zin'
import { deduplicationModes } from 'zin/plugins/queues'
import { closed, listed, queue, whole } from './common.js'
import { job } from './reads.js'

export const operationParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
const wait = Type.Integer({ minimum: 0, maximum: 30_000, default: 1_000, description: 'How long to wait for completion, in ms' })
const now = Type.Boolean({ default: false, description: 'Delete permanently, without undo' })
export const bulkQuery = Type.Object({ wait }, closed)
export const purgeQuery = Type.Object({ wait, now }, closed)
export const deleteQuery = Type.Object({ queue, now }, closed)
export const bulkBody = Type.Object(
  {
    status: Type.Optional(
      Type.Union(
        [...listed, 'waiting-children' as const, 'all' as const].map((status) => Type.Literal(status)),
        {
          description: 'Default: failed for a retry; waiting, delayed and waiting-children for a cancel. Required for a purge',
        },
      ),
    ),
    olderThan: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 40 })], {
        description: 'Age in ms, or an ISO 8601 time: jobs that ended (or, if unfinished, were created) before',
      }),
    ),
    maxAttempts: Type.Optional(Type.Integer({ minimum: 0, description: 'Only jobs with at most this many attempts' })),
    dryRun: Type.Optional(Type.Boolean()),
    confirm: Type.Optional(Type.String({ maxLength: 100, description: 'The queue name; required for a purge of all' })),
  },
  closed,
)
const priorityNames = ['Critical', 'High', 'Normal', 'Low'] as const
const mostDelayMs = 365 * 86_400_000
const jobOptions = Type.Object(
  {
    delay: Type.Optional(Type.Integer({ minimum: 0, maximum: mostDelayMs, description: 'In ms, at most one year' })),
    priority: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 10 }), ...priorityNames.map((name) => Type.Literal(name))], {
        description:
          'Critical (10), High (5), Normal (1), Low (0), or 0 to 10; higher runs first. Default: Normal; for a copy, that of the original',
      }),
    ),
    attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    backoff: Type.Optional(
      Type.Object(
        {
          type: Type.Union([Type.Literal('fixed'), Type.Literal('exponential')]),
          delay: Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'In ms; doubles with each retry if exponential' }),
          max: Type.Optional(
            Type.Integer({ minimum: 1, maximum: mostDelayMs, description: 'Longest wait in ms, jitter included; default 86400000' }),
          ),
          jitter: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'Largest share of a wait that is left out at random' })),
        },
        { ...closed, description: 'Default: retries at once' },
      ),
    ),
    deduplication: Type.Optional(
      Type.Object(
        {
          id: Type.String({ minLength: 1, maxLength: 128 }),
          mode: Type.Optional(
            Type.Union(
              deduplicationModes.map((mode) => Type.Literal(mode)),
              { description: 'Default: ttl with a ttl, otherwise until-done' },
            ),
          ),
          ttl: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: mostDelayMs,
              description: 'In ms, for ttl and debounce: how long the id counts, or the quiet time',
            }),
          ),
        },
        closed,
      ),
    ),
    jobId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'While a job with this id is kept, also when it has ended, adding it again adds no second one',
      }),
    ),
  },
  closed,
)
const jobName = Type.String({ minLength: 1, maxLength: 200 })
const jobData = Type.Optional(Type.Unknown())
export const addBody = Type.Object({ name: jobName, data: jobData, options: Type.Optional(jobOptions) }, closed)
export const duplicateBody = Type.Object({ name: Type.Optional(jobName), data: jobData, options: Type.Optional(jobOptions) }, closed)
export const addResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  queue: Type.String(),
  deduplicated: Type.Boolean({
    description: 'Whether nothing was added, because a job with the same jobId or deduplication id exists: id is its id',
  }),
})
export const pauseResponse = Type.Object({ ok: Type.Literal(true), queue: Type.String(), paused: Type.Boolean() })
const related = Type.Optional(
  Type.Array(Type.String(), { description: 'Other jobs of its flow that were changed with it, as <queue>:<id>' }),
)
export const actionResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  queue: Type.String(),
  outcome: Type.String(),
  related,
})
export const flowRetryBody = Type.Object({ dryRun: Type.Optional(Type.Boolean()) }, closed)
export const flowRetryQuery = Type.Object({ queue, wait }, closed)
const undo = Type.Union([
  Type.Object({
    until: Type.String({ description: 'ISO 8601' }),
    request: Type.String({ description: 'The request that restores the jobs' }),
    jobs: Type.Integer({ description: 'Deleted jobs that can be restored' }),
    final: Type.Integer({ description: 'Permanently deleted jobs, because the queue keeps no more for undo' }),
  }),
  Type.Null(),
])
export const deleteResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  queue: Type.String(),
  outcome: Type.String(),
  related,
  operation: Type.Union([Type.String({ description: 'Id of the operation for an undo' }), Type.Null()]),
  undo,
  message: Type.Optional(Type.String()),
})
const operation = Type.Object(
  {
    id: Type.String(),
    action: Type.String({ description: 'retry, flow.retry, cancel, purge, delete or undo' }),
    queue: Type.String(),
    state: Type.String(),
    total: whole,
    looked: whole,
    changed: whole,
    left: Type.Integer({ description: 'Matching jobs that were skipped; for an undo, those that were not restored' }),
    undo,
  },
  { additionalProperties: true },
)
export const operationResponse = Type.Object({ ok: Type.Literal(true), operation, message: Type.Optional(Type.String()) })
export const bulkResponse = Type.Object({
  ok: Type.Literal(true),
  operation: Type.Optional(operation),
  dryRun: Type.Optional(Type.Boolean()),
  matching: Type.Optional(whole),
  left: Type.Optional(Type.Integer({ description: 'For a dry run: matching jobs that would be skipped' })),
  complete: Type.Optional(Type.Boolean()),
  sample: Type.Optional(Type.Array(job)),
  restorable: Type.Optional(Type.Integer({ description: 'For a dry run of a purge: how many of the jobs could be restored' })),
  final: Type.Optional(Type.Integer({ description: 'For a dry run of a purge: how many would be permanently deleted' })),
  jobs: Type.Optional(Type.Array(Type.String(), { description: 'For a dry run of a retry of a flow: <queue>:<id>, leaves first' })),
  message: Type.Optional(Type.String()),
})
