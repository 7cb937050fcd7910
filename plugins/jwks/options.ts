import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

/** Options of `jwks()`. */
export type JwksOptions = OptionsOf<typeof jwksOptions>

/** The claims of the user for the verified claims of a token; `undefined` refuses the token. */
export type MapClaims = (claims: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> | undefined

/** Signatures that a public key verifies. Those of shared secrets (HS256, …) and `none` are impossible. */
const algorithm = Type.Union([
  Type.Literal('RS256'),
  Type.Literal('RS384'),
  Type.Literal('RS512'),
  Type.Literal('PS256'),
  Type.Literal('PS384'),
  Type.Literal('PS512'),
  Type.Literal('ES256'),
  Type.Literal('ES384'),
  Type.Literal('ES512'),
  Type.Literal('EdDSA'),
])

const issuer = Type.Object(
  {
    issuer: Type.String({ minLength: 1, maxLength: 512, description: 'Claim `iss` of its tokens, exactly' }),
    audience: Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 20 })], {
      description: 'Claim `aud`, exactly; of several, one is enough',
    }),
    jwksUrl: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: 'URL of its keys. Default: OpenID discovery at the issuer' }),
    ),
    algorithms: Type.Array(algorithm, {
      minItems: 1,
      description: 'The only algorithms of its tokens',
    }),
    mapClaims: Type.Optional(
      functionOption<MapClaims>({
        description:
          '`(claims) => claims | undefined`: the claims of the user, such as a `role` from another claim; `undefined` refuses the token. `iss`, `aud`, `jti`, `iat` and `exp` stay those of the token',
      }),
    ),
  },
  { additionalProperties: false },
)

export const jwksOptions = defineOptions(
  Type.Object({
    issuers: Type.Array(issuer, {
      maxItems: 50,
      default: [],
      description:
        '`{ issuer, audience, jwksUrl?, algorithms, mapClaims? }` of each issuer whose tokens `auth` accepts. `audience`: text or a list. `algorithms`: of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA. `mapClaims`: `(claims) => claims | undefined`',
    }),
    allowPrivate: Type.Boolean({
      default: false,
      description: 'Allows issuers at loopback and private addresses, and by http. For tests, and issuers within the own network',
    }),
    cacheSeconds: Type.Integer({
      minimum: 10,
      maximum: 86_400,
      default: 600,
      description: 'How old keys may be before they are fetched again, in seconds; meanwhile the old ones are used',
    }),
    staleSeconds: Type.Integer({
      minimum: 10,
      maximum: 604_800,
      default: 86_400,
      description: 'How old keys may be while the issuer does not respond, in seconds; at least `cacheSeconds`',
    }),
    cooldownSeconds: Type.Integer({
      minimum: 1,
      maximum: 3_600,
      default: 30,
      description: 'The shortest time between two fetches for an unknown `kid`, or after a failed fetch, in seconds',
    }),
    timeoutMs: Type.Integer({
      minimum: 100,
      maximum: 4_500,
      default: 3_000,
      description: 'How long a fetch of keys may take, in ms, discovery included',
    }),
    maxBytes: Type.Integer({
      minimum: 1_024,
      maximum: 1_048_576,
      default: 262_144,
      description: 'Maximum size of each response, in bytes',
    }),
  }),
)
