import { Type } from 'zin'
import { closed, listed, queue, whole } from './common.js'
import { job } from './reads.js'

export const operationParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
const wait = Type.Integer({ minimum: 0, maximum: 30_000, default: 1_000, description: 'How long to wait for the end, in ms' })
const now = Type.Boolean({ default: false, description: 'true: deletes for good, without an undo' })
export const bulkQuery = Type.Object({ wait }, closed)
export const purgeQuery = Type.Object({ wait, now }, closed)
export const deleteQuery = Type.Object({ queue, now }, closed)
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
const priorityNames = ['Critical', 'High', 'Normal', 'Low'] as const
const mostDelayMs = 365 * 86_400_000
const jobOptions = Type.Object(
  {
    delay: Type.Optional(Type.Integer({ minimum: 0, maximum: mostDelayMs, description: 'ms, at most one year' })),
    priority: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 10 }), ...priorityNames.map((name) => Type.Literal(name))], {
        description:
          'Critical (10), High (5), Normal (1), Low (0), or 0 to 10: more runs sooner. Default: Normal; of a copy, that of the original',
      }),
    ),
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
const undo = Type.Union([
  Type.Object({
    until: Type.String({ description: 'ISO 8601' }),
    request: Type.String({ description: 'What restores the jobs' }),
    jobs: Type.Integer({ description: 'Deleted jobs that can be restored' }),
    final: Type.Integer({ description: 'Deleted jobs that cannot, because the queue keeps no more for an undo' }),
  }),
  Type.Null(),
])
export const deleteResponse = Type.Object({
  ok: Type.Literal(true),
  id: Type.String(),
  queue: Type.String(),
  outcome: Type.String(),
  operation: Type.Union([Type.String({ description: 'Id of the operation that an undo names' }), Type.Null()]),
  undo,
  message: Type.Optional(Type.String()),
})
const operation = Type.Object(
  {
    id: Type.String(),
    action: Type.String({ description: 'retry, cancel, purge, delete or undo' }),
    queue: Type.String(),
    state: Type.String(),
    total: whole,
    looked: whole,
    changed: whole,
    left: Type.Integer({ description: 'Jobs that were left, because others depend on them or have their ids' }),
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
  complete: Type.Optional(Type.Boolean()),
  sample: Type.Optional(Type.Array(job)),
  final: Type.Optional(Type.Integer({ description: 'Of a dry run of a purge: about how many would be deleted for good' })),
  message: Type.Optional(Type.String()),
})
