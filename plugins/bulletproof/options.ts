import { Type } from 'typebox'

export type StoreChoice = 'memory' | 'kv' | 'db' | 'auto'

export interface BulletproofOptions {
  /** How far a timestamp may be off, in ms, either way. */
  readonly windowMs: number
  /** Overrides SIGNATURE_HEADER_PREFIX. */
  readonly headerPrefix?: string
  /** Path prefix that a gateway removes before the request comes here, and that the client signed: `/gateway`. */
  readonly signedPathPrefix: string
  /** What clients sign as the host by RFC 9421, `api.example.com`, where a gateway changes `Host`. Default: the `Host` that came. */
  readonly signedAuthority: string
  /** `auto`: kv when the plugin kv is enabled, else memory. */
  readonly nonceStore: StoreChoice
  /** `auto`: db when the plugin database is enabled, else kv, else memory. */
  readonly deviceStore: StoreChoice
  /** Which key ids that are no device and that no resolver knows may sign with the shared secret. */
  readonly sharedSecretFor: 'none' | 'listed' | 'unknown'
  /** The key ids of `sharedSecretFor: 'listed'`; no device can have one of them. */
  readonly sharedKeyIds: readonly string[]
  /** Asked for key ids that are no device, before the hook `resolveSigningSecret` and the shared secret. */
  readonly getSecretForKeyId?: (keyId: string) => string | undefined | Promise<string | undefined>
  /**
   * Takes device secrets that an earlier system stored in plain text; the first request of a device seals its own. While it is
   * on, whoever can write to the store can give a device a secret of his.
   */
  readonly legacySecrets: boolean
  /** How many secrets of BULLETPROOF_SIGNING_SECRET_BK without an end are tried. */
  readonly maxBackups: number
  /** Devices in use per user; a login beyond ends the one that was not seen for longest. */
  readonly maxDevicesPerUser: number
  /** How long a removed device is remembered, in ms; longer when a token can live longer. */
  readonly tombstoneMs: number
}

const store = Type.Union([Type.Literal('memory'), Type.Literal('kv'), Type.Literal('db'), Type.Literal('auto')])
const day = 86_400_000

export const bulletproofOptions = {
  schema: Type.Object(
    {
      windowMs: Type.Integer({ minimum: 1_000, maximum: 300_000 }),
      headerPrefix: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9-]*-$' })),
      signedPathPrefix: Type.String({ pattern: '^(/[A-Za-z0-9._~-]+)*$' }),
      signedAuthority: Type.String({ pattern: '^([a-z0-9._-]+(:[0-9]{1,5})?)?$' }),
      nonceStore: store,
      deviceStore: store,
      sharedSecretFor: Type.Union([Type.Literal('none'), Type.Literal('listed'), Type.Literal('unknown')]),
      sharedKeyIds: Type.Array(Type.String({ pattern: '^[A-Za-z0-9._:@-]{1,128}$' })),
      // A function; JSON schema has no word for it.
      getSecretForKeyId: Type.Optional(Type.Unsafe<NonNullable<BulletproofOptions['getSecretForKeyId']>>({})),
      legacySecrets: Type.Boolean(),
      maxBackups: Type.Integer({ minimum: 0, maximum: 50 }),
      maxDevicesPerUser: Type.Integer({ minimum: 1, maximum: 100 }),
      tombstoneMs: Type.Integer({ minimum: day, maximum: 400 * day }),
    },
    { additionalProperties: false },
  ),
  defaults: {
    windowMs: 60_000,
    signedPathPrefix: '',
    signedAuthority: '',
    nonceStore: 'auto',
    deviceStore: 'auto',
    sharedSecretFor: 'unknown',
    sharedKeyIds: ['zin-cli'],
    legacySecrets: false,
    maxBackups: 5,
    maxDevicesPerUser: 50,
    tombstoneMs: 30 * day,
  } as BulletproofOptions,
}
