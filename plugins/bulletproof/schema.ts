import { Type } from 'zin'

export const deviceIdParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 128 }) })

export const deviceList = Type.Object({
  devices: Type.Array(
    Type.Object({
      deviceId: Type.String(),
      label: Type.Optional(Type.String()),
      profile: Type.Union([Type.Literal('v1'), Type.Literal('rfc9421')], { description: 'Weakest accepted signature profile' }),
      publicKey: Type.Optional(Type.String({ description: 'Public key of a device that signs with its own key' })),
      createdAt: Type.String({ description: 'ISO 8601' }),
      lastSeenAt: Type.String({ description: 'ISO 8601, accurate to a few minutes' }),
      current: Type.Boolean({ description: 'Whether this device sent the request' }),
    }),
  ),
})

export const message = Type.Object({ message: Type.String() })
