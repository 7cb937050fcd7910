import { Type } from 'zin'
import { verdicts } from './judge/index.js'
import { canaryStates, pauseReasons } from './record.js'

const ok = Type.Literal(true)
const iso = Type.String({ description: 'ISO 8601' })
const words = (values: readonly string[]) => Type.Enum([...values], { type: 'string' })
const state = words(canaryStates)
const percent = Type.Number({ minimum: 0, maximum: 100 })
const orNull = (schema: ReturnType<typeof Type.Number>) => Type.Union([schema, Type.Null()])

export const nameParams = Type.Object({ name: Type.String() })
export const waitQuery = Type.Object(
  {
    wait: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 10_000,
      description: 'How long to wait until every node has applied the change, in ms; after that, the response is 202',
    }),
  },
  { additionalProperties: false },
)
export const replayQuery = Type.Object(
  {
    wait: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 10_000,
      description: 'How long to wait for jobs that still run on the version, in ms',
    }),
  },
  { additionalProperties: false },
)
/** Validated by the service, whose errors have specific codes. */
export const startBody = Type.Object({}, { additionalProperties: true })
export const rollbackQuery = Type.Object(
  { ...waitQuery.properties, reason: Type.Optional(Type.String({ minLength: 1, maxLength: 300, description: 'Reason, for the history' })) },
  { additionalProperties: false },
)

const version = Type.String({ pattern: '^\\d{1,9}\\.\\d{1,9}\\.\\d{1,9}$', description: 'major.minor.patch' })
const share = Type.Number({ exclusiveMinimum: 0, maximum: 100 })
const ms = (description: string) => Type.Integer({ minimum: 1, maximum: 2_592_000_000, description })
const score = (description: string) => Type.Number({ minimum: 0, maximum: 100, description })
export const documentedStart = Type.Object(
  {
    newVersion: version,
    trafficPercentage: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 100, description: 'Maximum share of the jobs in percent' }),
    ),
    duration: ms('Total duration of all steps, in ms'),
    autoRollback: Type.Optional(
      Type.Boolean({ description: 'Default true; if false, the canary is never rolled back automatically: a failing one is paused' }),
    ),
    successThreshold: Type.Optional(
      score('Health score with which the canary is promoted at the end of the duration. Default: by statistical confidence'),
    ),
    rollbackThreshold: Type.Optional(score('Health score below which a significantly worse canary fails. Default 50')),
    steps: Type.Optional(
      Type.Array(
        Type.Union([
          share,
          Type.Object(
            {
              trafficPercentage: share,
              duration: Type.Optional(ms('Default: an equal part of the total duration, in ms')),
              minJobs: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
              gate: Type.Optional(Type.Boolean({ description: 'Pause at the end of the step' })),
            },
            { additionalProperties: false },
          ),
        ]),
        {
          minItems: 1,
          maxItems: 20,
          description: 'Ascending. Default: those of 1, 5, 10, 25 and 50 that are below trafficPercentage, then trafficPercentage',
        },
      ),
    ),
    inFlight: Type.Optional(words(['drain', 'abort'])),
    shield: Type.Optional(
      Type.Boolean({ description: 'Jobs that fail on the new version are rerun on the stable one without using up an attempt' }),
    ),
    stickyBy: Type.Optional(
      Type.String({ maxLength: 510, description: 'Path in the job data: jobs with equal values go to the same version' }),
    ),
    startTimeout: Type.Optional(ms('How long nodes may take to load the version, in ms. Default 60000')),
    pauseTimeout: Type.Optional(
      ms('How long the canary may be paused before it is rolled back, in ms, unless autoRollback is false. Default 86400000'),
    ),
    autoComplete: Type.Optional(Type.Boolean({ description: 'Default true; if false, the canary is paused instead of promoted' })),
    autoReplay: Type.Optional(
      Type.Boolean({
        description: 'After a rollback, jobs that failed permanently on the new version are added to the queue again. Default false',
      }),
    ),
    force: Type.Optional(Type.Boolean({ description: 'Start the canary even if the version was refused before. Default false' })),
  },
  { additionalProperties: false },
)

const actor = Type.Object({ kind: Type.String(), id: Type.String(), via: Type.String() }, { additionalProperties: true })
const errors = Type.Array(
  Type.Object({
    class: Type.String(),
    message: Type.String({ description: 'Without numbers, ids and quoted values; [redacted] without payload:read' }),
    count: Type.Integer({ description: 'Failed attempts, retries included' }),
    example: Type.String({ description: 'Id of a job' }),
  }),
  { description: 'The most frequent errors' },
)
const event = Type.Object({
  at: iso,
  from: Type.Union([state, Type.Null()]),
  to: state,
  actor,
  reason: Type.String(),
  errors: Type.Optional(errors),
})
const arm = Type.Object(
  { version: Type.String(), jobs: Type.Integer(), failed: Type.Integer(), slow: Type.Integer(), lost: Type.Integer(), errors },
  { description: 'First attempts' },
)
const canary = Type.Object({
  id: Type.String(),
  worker: Type.String(),
  state,
  pausedFor: Type.Optional(words(pauseReasons)),
  health: percent,
  trafficPercentage: percent,
  step: Type.Integer({ description: 'From 1' }),
  steps: Type.Array(
    Type.Object({
      trafficPercentage: percent,
      duration: Type.Integer({ description: 'ms' }),
      minJobs: Type.Optional(Type.Integer()),
      gate: Type.Optional(Type.Boolean()),
    }),
  ),
  stable: arm,
  canary: arm,
  verdict: words(verdicts),
  evidence: Type.Object(
    {
      rule: Type.String(),
      metric: Type.Union([Type.String(), Type.Null()]),
      reason: Type.String(),
      metrics: Type.Object({}, { additionalProperties: true }),
    },
    { description: 'The judgement, with each metric' },
  ),
  needs: Type.Object(
    { jobs: orNull(Type.Number()), minutes: orNull(Type.Number()) },
    { description: 'Estimated jobs and minutes until a verdict; null if unknown' },
  ),
  casualties: Type.Object(
    { recorded: Type.Integer(), replayed: Type.Integer() },
    { description: 'Jobs that failed permanently on the new version' },
  ),
  startedAt: iso,
  updatedAt: iso,
  endedAt: Type.Optional(iso),
  history: Type.Array(event),
})
const operation = Type.Object(
  { id: Type.String(), generation: Type.Integer(), targets: Type.Array(Type.String()), applied: Type.Array(Type.String()) },
  { additionalProperties: true },
)
const result = { ok, message: Type.String(), canary, operation: Type.Optional(operation) }
export const resultResponse = Type.Object(result)
export const replayResponse = Type.Object({
  ...result,
  replayed: Type.Integer(),
  left: Type.Integer({ description: 'Jobs that were no longer failed, or no longer kept by the queue' }),
  pending: Type.Integer({ description: 'Jobs that may still run on the version, at most; each is replayed when it fails' }),
})
export const statusResponse = Type.Object({ ok, canary })
export const historyResponse = Type.Object({
  ok,
  history: Type.Array(event),
  canaries: Type.Array(
    Type.Object({
      id: Type.String(),
      stable: Type.String(),
      canary: Type.String(),
      state,
      startedAt: iso,
      endedAt: iso,
      reason: Type.String(),
      errors: Type.Optional(errors),
    }),
    { description: 'Earlier canaries, newest first' },
  ),
})
