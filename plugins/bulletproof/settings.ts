import { defineSettings } from 'zin'
import { appKeySettings } from 'zin/plugins/jwt'

/** The prefix of the signature headers. A plugin that reads it lists this in its `settings`, so that all have one declaration. */
export const signatureSettings = defineSettings({
  SIGNATURE_HEADER_PREFIX: {
    type: 'string',
    default: 'x-sig-',
    pattern: '^[a-z][a-z0-9-]*-$',
    summary:
      'How the names of the signature headers begin: lower case, with `-` at the end. Clients must give the same as `headerPrefix` to `signedFetch` and `createHeaders`',
  },
})

export const bulletproofSettings = defineSettings({
  BULLETPROOF_SIGNING_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Shared secret of callers without a device, used as it is; 32 bytes or more in production',
  },
  AUTH_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Shared secret when `BULLETPROOF_SIGNING_SECRET` is empty; 32 bytes or more in production',
  },
  ...appKeySettings,
  BULLETPROOF_SIGNING_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Earlier shared secrets, newest first: JSON array of texts or of `{"secret", "notAfter"}` (ms or ISO date); `maxBackups` of them are tried, in production those of 32 bytes or more',
  },
  APP_KEY_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier master keys that still open device secrets: JSON array of texts',
  },
  ...signatureSettings,
})
