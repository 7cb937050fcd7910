import { Type } from 'typebox'
import { iso, ok } from './common.js'

export const countsQuery = Type.Object(
  {
    minutes: Type.Integer({ minimum: 1, maximum: 1_440, default: 60, description: 'Time range, in minutes before now' }),
    byMinute: Type.Boolean({ default: false, description: 'One entry for each minute with attempts' }),
    byVersion: Type.Boolean({ default: false, description: 'One entry for each version' }),
  },
  { additionalProperties: false },
)

const msOrNull = Type.Union([Type.Number(), Type.Null()], { description: 'ms; null: nothing ran' })

export const countsAnswer = Type.Object({
  ok,
  minutes: Type.Integer(),
  counts: Type.Array(
    Type.Object({
      minute: Type.Optional(iso),
      version: Type.Optional(Type.String()),
      completed: Type.Integer(),
      failed: Type.Integer(),
      lost: Type.Integer({ description: 'Included in failed: stalled, or the child process or thread died' }),
      timedOut: Type.Integer({ description: 'Included in failed' }),
      cancelled: Type.Integer(),
      avgMs: msOrNull,
      p50Ms: msOrNull,
      p95Ms: msOrNull,
    }),
  ),
})
