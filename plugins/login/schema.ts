import { Type } from 'typebox'

export const loginBody = Type.Object({
  email: Type.String({ minLength: 1, maxLength: 320 }),
  password: Type.String({ minLength: 1, maxLength: 128 }),
  deviceId: Type.Optional(Type.String({ maxLength: 128, description: 'An id that the client knows from an earlier login' })),
})

export const loginResponse = {
  200: Type.Object({
    jwt: Type.String(),
    deviceId: Type.String(),
    deviceSecret: Type.String({ description: 'Signs requests; it is in this answer and nowhere else' }),
  }),
}

export const messageResponse = { 200: Type.Object({ message: Type.String() }) }

export const meResponse = {
  200: Type.Object({
    id: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    email: Type.Optional(Type.String()),
    role: Type.Optional(Type.String()),
    deviceId: Type.Optional(Type.String()),
  }),
}
