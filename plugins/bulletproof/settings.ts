import { defineSettings } from 'zin'
import { appKeySettings, earlierAppKeySettings } from 'zin/plugins/jwt'

/** The prefix of the signature headers. A plugin that reads it includes this in its `settings`, so that there is one declaration. */
export const signatureSettings = defineSettings({
  SIGNATURE_HEADER_PREFIX: {
    type: 'string',
    default: 'x-sig-',
    pattern: '^[a-z][a-z0-9-]*-$',
    form: 'lower-case letters, digits and -, ending with -, such as x-sig-',
    summary:
      'Prefix of the signature header names: lower case, ending with `-`. Clients must pass the same value as `headerPrefix` to `signedFetch` and `createHeaders`',
  },
})

export const bulletproofSettings = defineSettings({
  BULLETPROOF_SIGNING_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Shared secret of callers without a device, used verbatim; 32 bytes or more in production',
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
      'Earlier shared secrets, newest first: JSON array of strings or `{"secret", "notAfter"}` (ms or ISO date); `maxBackups` of them are accepted, in production only those of 32 bytes or more',
  },
  ...earlierAppKeySettings,
  ...signatureSettings,
})
