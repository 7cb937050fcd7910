import { Type } from 'zin'

export const loginBody = Type.Object({
  email: Type.String({ minLength: 1, maxLength: 320 }),
  password: Type.String({ minLength: 1, maxLength: 128 }),
  code: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Code of the authenticator app, or a recovery code, if a second factor is enabled',
    }),
  ),
  deviceId: Type.Optional(Type.String({ maxLength: 128, description: 'Device id from an earlier login' })),
  devicePublicKey: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
      description: 'Raw Ed25519 public key in base64url, for a device that signs with its own key by RFC 9421',
    }),
  ),
})

const refreshToken = Type.String({ description: 'Valid once, for the next pair of tokens' })

export const loginResponse = {
  200: Type.Object({
    jwt: Type.String(),
    deviceId: Type.String(),
    deviceSecret: Type.String({
      description: 'Signs requests; returned only in this response. Empty for a device with a public key',
    }),
    refreshToken: Type.Optional(refreshToken),
  }),
}

export const refreshBody = Type.Object({ refreshToken: Type.String({ minLength: 1, maxLength: 512 }) })

export const refreshResponse = { 200: Type.Object({ jwt: Type.String(), refreshToken }) }

export const messageResponse = { 200: Type.Object({ message: Type.String() }) }

export const meResponse = {
  200: Type.Object({
    id: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    email: Type.Optional(Type.String()),
    role: Type.Optional(Type.String()),
    deviceId: Type.Optional(Type.String()),
  }),
}
