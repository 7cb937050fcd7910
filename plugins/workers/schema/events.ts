import { Type } from 'typebox'

export const eventsQuery = Type.Object(
  { worker: Type.Optional(Type.String({ description: 'Only events of this worker' })) },
  { additionalProperties: false },
)
