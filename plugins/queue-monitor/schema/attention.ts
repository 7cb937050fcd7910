import { Type } from 'zin'
import { closed, whole } from './common.js'

export const attentionQuery = Type.Object(
  { acknowledged: Type.Optional(Type.Boolean({ description: 'true: only acknowledged items; false: only the others. Default: all' })) },
  closed,
)
export const attentionParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
export const acknowledgeBody = Type.Object(
  { note: Type.String({ maxLength: 10_000, description: 'Why no more is to be done now: 1 to 500 characters' }) },
  closed,
)
const item = Type.Object({
  id: Type.String({ description: 'The same as long as the cause lasts' }),
  kind: Type.String({ description: 'Such as worker-failed or queue-paused' }),
  subject: Type.String({ description: '<type>:<id>, such as worker:emails' }),
  severity: Type.String({ description: 'bad: something does not work; warn' }),
  since: Type.String({ description: 'ISO 8601' }),
  count: whole,
  bar: Type.Array(whole, { description: 'The highest count in each of the last 24 hours, oldest first' }),
  cause: Type.String({ description: 'What is wrong, as a sentence with its numbers' }),
  act: Type.Object({ label: Type.String(), href: Type.String({ description: 'A page of the console' }) }),
  queue: Type.Optional(Type.String()),
  acknowledged: Type.Optional(
    Type.Object({ note: Type.String(), by: Type.Unknown({ description: 'The caller' }), at: Type.String({ description: 'ISO 8601' }) }),
  ),
})
export const attentionResponse = Type.Object({
  ok: Type.Literal(true),
  at: Type.String({ description: 'When it was checked, ISO 8601' }),
  items: Type.Array(item, { description: 'Failures first, then the oldest' }),
  notChecked: Type.Array(Type.Object({ kind: Type.String(), reason: Type.String() }), {
    description: 'What could not be checked, or is not shown to the caller',
  }),
})
export const acknowledgedResponse = Type.Object({ ok: Type.Literal(true), item })
