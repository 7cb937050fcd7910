import { defineSettings } from 'zin'

export const bulletproofSettings = defineSettings({
  BULLETPROOF_SIGNING_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Shared secret of callers without a device, used as it is; 32 bytes or more',
  },
  AUTH_KEY: { type: 'string', default: '', secret: true, summary: 'Shared secret when BULLETPROOF_SIGNING_SECRET is empty' },
  APP_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Master key: seals device secrets; shared secret when the other two are empty',
  },
  BULLETPROOF_SIGNING_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier shared secrets, newest first: JSON array of texts or of {"secret", "notAfter"}',
  },
  APP_KEY_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier master keys that still open device secrets: JSON array of texts',
  },
  SIGNATURE_HEADER_PREFIX: {
    type: 'string',
    default: 'x-sig-',
    pattern: '^[a-z][a-z0-9-]*-$',
    summary: 'How the names of the signature headers begin',
  },
})
