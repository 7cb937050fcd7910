import { Type } from 'zin'

const iso = Type.String({ description: 'ISO 8601' })
const isoOrNull = Type.Union([iso, Type.Null()])

export const subjectParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 600, description: 'The id of the subject as it appears in the job data' }),
})

export const erasureParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) })

export const eraseQuery = Type.Object(
  {
    wait: Type.Integer({ minimum: 0, maximum: 30_000, default: 10_000, description: 'How long to wait for the erasure to finish, in ms' }),
  },
  { additionalProperties: false },
)

const erasure = Type.Object({
  id: Type.String({ description: 'UUID' }),
  subject: Type.String({ description: 'Digest of the subject' }),
  state: Type.Union([Type.Literal('running'), Type.Literal('waiting'), Type.Literal('completed'), Type.Literal('failed')], {
    description: 'waiting: jobs of the subject are still running, and are erased when they end',
  }),
  erased: Type.Integer({ description: 'Jobs and schedules that were erased' }),
  pending: Type.Integer({ description: 'Jobs that are still running' }),
  elsewhere: Type.Integer({ description: 'Records that other plugins erased' }),
  waitsFor: Type.Array(
    Type.Object({
      queue: Type.String(),
      job: Type.String(),
      since: iso,
      runningSince: isoOrNull,
      lost: Type.Boolean({ description: 'Its process has ended or is blocked: it is erased after 30 s, with or without a worker' }),
    }),
    { description: 'The running jobs that it waits for, longest first, at most 20' },
  ),
  advice: Type.Union([Type.String(), Type.Null()], { description: 'What it waits for, and what can be done' }),
  error: Type.Union([Type.String(), Type.Null()]),
  actor: Type.Object({ kind: Type.String(), id: Type.String(), via: Type.String() }),
  requestedAt: iso,
  updatedAt: iso,
})

export const erasureResponse = Type.Object({ ok: Type.Literal(true), erasure })

const exportedJob = Type.Object({
  queue: Type.String(),
  id: Type.String(),
  name: Type.String(),
  state: Type.String(),
  data: Type.Any(),
  result: Type.Any(),
  error: Type.Union([Type.String(), Type.Null()]),
  progress: Type.Any(),
  logs: Type.Array(Type.String()),
  createdAt: iso,
  finishedAt: isoOrNull,
})

export const exportResponse = Type.Object({
  ok: Type.Literal(true),
  subject: Type.String(),
  exportedAt: iso,
  jobs: Type.Array(exportedJob),
  records: Type.Array(Type.Object({ plugin: Type.String(), kind: Type.String(), id: Type.String(), data: Type.Any() }), {
    description: 'Records of other plugins about the subject',
  }),
  complete: Type.Boolean({ description: 'False if something is missing, which `problems` lists' }),
  problems: Type.Array(Type.String()),
})
