import { Type } from 'zin'

const text = (description: string) => Type.Optional(Type.String({ maxLength: 250, description }))
const nullable = (description?: string) => Type.Union([Type.String(), Type.Null()], description === undefined ? {} : { description })

export const listQuery = Type.Object(
  {
    action: text('worker.stop, canary.pause, login, job.end, …'),
    target: text('<type>:<id>, such as worker:email-sender'),
    actor: text('<kind>:<id>, such as user:42'),
    outcome: text('asked, done, failed; for jobs: completed, failed, …'),
    requestId: text('As in the response header x-request-id'),
    since: text('ISO 8601 or ms since 1970, inclusive'),
    until: text('ISO 8601 or ms since 1970, exclusive'),
    page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 500, default: 100 }),
  },
  { additionalProperties: false },
)

const entry = Type.Object({
  id: Type.Integer(),
  at: Type.String({ description: 'ISO 8601' }),
  action: Type.String(),
  target: Type.String(),
  outcome: Type.String(),
  actor: Type.String(),
  device: nullable('Id of the device that signed the request'),
  via: Type.String({ description: 'http, cli or plugin' }),
  before: nullable('Keyed digest of the state before'),
  after: nullable('Keyed digest of the state after'),
  reason: nullable(),
  address: nullable('Client address'),
  requestId: nullable(),
  ref: Type.Union([Type.Integer(), Type.Null()], { description: 'Id of the entry `asked` of the same action' }),
  hash: Type.String(),
})

export const listResponse = Type.Object({
  ok: Type.Literal(true),
  entries: Type.Array(entry, { description: 'Newest first' }),
  pagination: Type.Object({ page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), totalPages: Type.Integer() }),
})

const fault = Type.Object({ id: Type.Integer(), problem: Type.String() })

export const verifyResponse = Type.Object({
  ok: Type.Literal(true),
  intact: Type.Boolean(),
  entries: Type.Integer(),
  chains: Type.Integer(),
  open: Type.Integer({ description: 'Chains whose process is running, or did not shut down cleanly' }),
  purged: Type.Integer({ description: 'Entries that retention has deleted from the remaining chains' }),
  unconfirmed: Type.Integer({ description: 'Entries at the ends of chains that neither kv nor the anchor file confirms' }),
  earlierSeals: Type.Integer({ description: 'Chains whose last seal was made with an earlier key, or in an older format' }),
  fault: Type.Union([fault, Type.Null()], { description: 'The first fault' }),
  faults: Type.Array(fault, { description: 'The first 20 faults' }),
  faultCount: Type.Integer({ description: 'Total number of faults' }),
})

export const statusResponse = Type.Object({
  ok: Type.Literal(true),
  enabled: Type.Boolean(),
  downSince: nullable('Since when the log cannot be written, ISO 8601'),
  waiting: Type.Integer(),
  written: Type.Integer(),
  unkept: Type.Integer(),
  refused: Type.Integer(),
  chain: Type.Union([Type.Integer(), Type.Null()]),
  verifying: Type.Union([Type.Object({ entries: Type.Integer(), of: Type.Integer() }), Type.Null()], {
    description: 'Progress of the verification that is running',
  }),
  places: Type.Array(Type.Object({ place: Type.String(), failingSince: nullable('ISO 8601'), saved: Type.Integer() }), {
    description: 'Places outside the tables that get the seals of the responding process',
  }),
})
