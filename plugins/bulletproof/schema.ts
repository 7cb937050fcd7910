import { Type } from 'zin'

export const deviceIdParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 128 }) })

export const deviceList = Type.Object({
  devices: Type.Array(
    Type.Object({
      deviceId: Type.String(),
      label: Type.Optional(Type.String()),
      profile: Type.Union([Type.Literal('v1'), Type.Literal('rfc9421')], { description: 'The weakest way of signing that is taken' }),
      publicKey: Type.Optional(Type.String({ description: 'Of a device that signs with a key of its own' })),
      createdAt: Type.String({ description: 'ISO 8601' }),
      lastSeenAt: Type.String({ description: 'ISO 8601, exact to a few minutes' }),
      current: Type.Boolean({ description: 'Whether this request came from it' }),
    }),
  ),
})

export const message = Type.Object({ message: Type.String() })
