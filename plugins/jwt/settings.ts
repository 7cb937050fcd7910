import { defineSettings } from 'zin'

export const jwtSettings = defineSettings({
  JWT_SECRET: { type: 'string', default: '', secret: true, summary: 'Secret of HS256 tokens, used as it is; 32 bytes or more' },
  JWT_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier secrets whose HS256 tokens are still accepted: JSON array of texts',
  },
  APP_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Master key of the app; the token key is derived from it when JWT_SECRET is empty',
  },
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
    summary: 'PEM that signs RS256 or ES256 tokens; line breaks may be written as \\n',
  },
  JWT_PUBLIC_KEY: {
    type: 'string',
    default: '',
    summary: 'PEM that checks RS256 or ES256 tokens; default: the public half of JWT_PRIVATE_KEY',
  },
  JWT_EXPIRES_IN: { type: 'int', default: 3600, min: 1, max: 31_536_000, summary: 'Life of a token in seconds' },
  JWT_ISSUER: { type: 'string', default: '', summary: 'Claim iss, set and required; default: the app name' },
  JWT_AUDIENCE: { type: 'string', default: '', summary: 'Claim aud, set and required; default: the app name' },
})
