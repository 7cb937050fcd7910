import { defineSettings } from 'zin'

/** The master key of the app. A plugin that reads it lists this in its `settings`, so that all have one declaration. */
export const appKeySettings = defineSettings({
  APP_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Master key of the app. It seals device secrets; when `JWT_SECRET` is empty, the token key is derived from it (HKDF-SHA256, no salt, label `zin/jwt/v1`, 32 bytes); it is the shared signing secret when `BULLETPROOF_SIGNING_SECRET` and `AUTH_KEY` are empty',
  },
})

export const jwtSettings = defineSettings({
  JWT_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret of HS256 tokens, used as it is; 32 bytes or more in production',
  },
  JWT_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier secrets whose HS256 tokens are still accepted, by the `kid` in them: JSON array of texts, 32 bytes or more each',
  },
  ...appKeySettings,
  JWT_ALGORITHM: {
    type: 'enum',
    default: 'HS256',
    values: ['HS256', 'RS256', 'ES256'],
    summary: 'The one algorithm that tokens are signed with and accepted in',
  },
  JWT_PRIVATE_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'PEM that signs RS256 or ES256 tokens; line breaks may be written as `\\n`',
  },
  JWT_PUBLIC_KEY: {
    type: 'string',
    default: '',
    summary: 'PEM that checks them; alone, the app checks tokens and issues none. Default: the public half of `JWT_PRIVATE_KEY`',
  },
  JWT_EXPIRES_IN: { type: 'int', default: 3600, min: 1, max: 31_536_000, summary: 'Life of a token, in seconds' },
  JWT_ISSUER: { type: 'string', default: '', summary: 'Claim `iss`, set and required. Default: the app name' },
  JWT_AUDIENCE: { type: 'string', default: '', summary: 'Claim `aud`, set and required. Default: the app name' },
})
