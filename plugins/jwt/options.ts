import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `jwt()`; each one overrides its setting. */
export type JwtOptions = OptionsOf<typeof jwtOptions>

export const jwtOptions = defineOptions(
  Type.Object({
    algorithm: Type.Optional(
      Type.Union([Type.Literal('HS256'), Type.Literal('RS256'), Type.Literal('ES256'), Type.Literal('EdDSA')], {
        description: 'Default: `JWT_ALGORITHM`',
      }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 31_536_000, description: 'Lifetime of a token, in seconds. Default: `JWT_EXPIRES_IN`' }),
    ),
    issuer: Type.Optional(Type.String({ minLength: 1, description: 'Claim `iss`, set and required. Default: `JWT_ISSUER`' })),
    audience: Type.Optional(Type.String({ minLength: 1, description: 'Claim `aud`, set and required. Default: `JWT_AUDIENCE`' })),
    maxLifetimeSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Maximum difference between `exp` and `iat`, in seconds. Default: 86400, or the lifetime of a token if that is longer',
      }),
    ),
  }),
)
