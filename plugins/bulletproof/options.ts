import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

export type StoreChoice = 'memory' | 'kv' | 'db' | 'auto'

/** Secret of a key id that matches no device, or undefined. */
export type GetSecretForKeyId = (keyId: string) => string | undefined | Promise<string | undefined>

export type BulletproofOptions = OptionsOf<typeof bulletproofOptions>

const store = (description: string) =>
  Type.Union([Type.Literal('memory'), Type.Literal('kv'), Type.Literal('db'), Type.Literal('auto')], { default: 'auto', description })
const day = 86_400_000

export const bulletproofOptions = defineOptions(
  Type.Object({
    windowMs: Type.Integer({
      minimum: 1_000,
      maximum: 300_000,
      default: 60_000,
      description: 'How far a timestamp may differ from the current time, in ms, in either direction',
    }),
    headerPrefix: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9-]*-$',
        description: 'Prefix of the signature header names. Default: `SIGNATURE_HEADER_PREFIX`',
      }),
    ),
    signedPathPrefix: Type.String({
      pattern: '^(/[A-Za-z0-9._~-]+)*$',
      default: '',
      description: 'Path prefix that clients sign and a gateway removes, such as `/gateway`',
    }),
    signedAuthority: Type.String({
      pattern: '^([a-z0-9._-]+(:[0-9]{1,5})?)?$',
      default: '',
      description:
        'Host that clients sign by RFC 9421 when a gateway changes `Host`, such as `api.example.com`; empty for the received `Host`',
    }),
    nonceStore: store('`auto`: kv when the plugin kv is enabled, else memory'),
    deviceStore: store('`auto`: db when the plugin database is enabled, else kv, else memory'),
    sharedSecretFor: Type.Union([Type.Literal('none'), Type.Literal('listed'), Type.Literal('unknown')], {
      default: 'unknown',
      description:
        'Which key ids that match no device and no resolver may sign with the shared secret; routes of `ops` accept it from all of them',
    }),
    sharedKeyIds: Type.Array(Type.String({ pattern: '^[A-Za-z0-9._:@-]{1,128}$' }), {
      default: ['zin-cli'],
      description: 'The key ids for `listed`; a device cannot use any of them',
    }),
    getSecretForKeyId: Type.Optional(
      functionOption<GetSecretForKeyId>({
        description:
          '`(keyId)`: secret of a key id that matches no device, or undefined. Called before the hook `resolveSigningSecret` and the shared secret',
      }),
    ),
    legacySecrets: Type.Boolean({
      default: false,
      description:
        'Accepts device secrets that an earlier system stored in plain text; the first request of a device encrypts its secret. While enabled, anyone who can write to the store can choose the secret of a device',
    }),
    maxBackups: Type.Integer({
      minimum: 0,
      maximum: 50,
      default: 50,
      description: 'How many secrets of `BULLETPROOF_SIGNING_SECRET_BK` without `notAfter` are accepted',
    }),
    maxDevicesPerUser: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 50,
      description: 'Active devices per user; a further login removes the least recently seen one',
    }),
    tombstoneMs: Type.Integer({
      minimum: day,
      maximum: 400 * day,
      default: 30 * day,
      description: 'How long the tombstone of a removed device is kept, in ms; at least the lifetime of a token',
    }),
  }),
)
