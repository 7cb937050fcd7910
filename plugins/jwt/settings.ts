import { defineSettings } from 'zin'

/** The master key of the app. A plugin that reads it includes this in its `settings`, so that there is one declaration. */
export const appKeySettings = defineSettings({
  APP_KEY: {
    type: 'string',
    default: '',
    secret: true,
    generate: true,
    summary:
      'Master key of the app. It encrypts device secrets; when `JWT_SECRET` is empty, the token key is derived from it (HKDF-SHA256, no salt, label `zin/jwt/v1`, 32 bytes); it is the shared signing secret when `BULLETPROOF_SIGNING_SECRET` and `AUTH_KEY` are empty',
  },
})

/** The earlier master keys of the app, for plugins that read what was made with them. */
export const earlierAppKeySettings = defineSettings({
  APP_KEY_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Earlier master keys, newest first: JSON array of strings. They still decrypt device secrets and stored jobs, and verify seals that were made with them. When `JWT_SECRET` is empty, they also verify tokens, for as long as one can be valid that was signed before the app first had them here',
  },
})

export const jwtSettings = defineSettings({
  JWT_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret of HS256 tokens, used as is; at least 32 bytes in production',
  },
  JWT_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Previous secrets whose HS256 tokens are still accepted, selected by `kid`: JSON array of strings of at least 32 bytes',
  },
  ...appKeySettings,
  ...earlierAppKeySettings,
  JWT_ALGORITHM: {
    type: 'enum',
    default: 'HS256',
    values: ['HS256', 'RS256', 'ES256', 'EdDSA'],
    summary: 'The only algorithm for signing and verifying tokens',
  },
  JWT_PRIVATE_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Private key (PEM) for signing RS256, ES256 or EdDSA (Ed25519) tokens; line breaks can be written as `\\n`',
  },
  JWT_PUBLIC_KEY: {
    type: 'string',
    default: '',
    summary:
      'Public key (PEM) for verifying them; without a private key the app verifies tokens but cannot issue them. Default: derived from `JWT_PRIVATE_KEY`',
  },
  JWT_PUBLIC_KEY_BK: {
    type: 'string',
    default: '',
    summary:
      'Public keys (PEM) of earlier and next private keys, whose tokens are accepted, too: JSON array of strings, see "Rotating keys"',
  },
  JWT_EXPIRES_IN: { type: 'int', default: 3600, min: 1, max: 31_536_000, summary: 'Lifetime of a token, in seconds' },
  JWT_ISSUER: { type: 'string', default: '', summary: 'Claim `iss`, set and required. Default: the app name' },
  JWT_AUDIENCE: { type: 'string', default: '', summary: 'Claim `aud`, set and required. Default: the app name' },
})
