import { Type } from 'typebox'

/** Options of `jwt()`; each one overrides its setting. */
export interface JwtOptions {
  readonly algorithm?: 'HS256' | 'RS256' | 'ES256'
  /** Life of a token in seconds. */
  readonly expiresInSeconds?: number
  readonly issuer?: string
  readonly audience?: string
  /** Longest accepted distance of `exp` from `iat`, in seconds. Default: one day, or the life of a token when that is longer. */
  readonly maxLifetimeSeconds?: number
}

export const jwtOptions = {
  schema: Type.Object(
    {
      algorithm: Type.Optional(Type.Union([Type.Literal('HS256'), Type.Literal('RS256'), Type.Literal('ES256')])),
      expiresInSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000 })),
      issuer: Type.Optional(Type.String({ minLength: 1 })),
      audience: Type.Optional(Type.String({ minLength: 1 })),
      maxLifetimeSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
    },
    { additionalProperties: false },
  ),
  defaults: {} as JwtOptions,
}
