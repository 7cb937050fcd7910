import { defineSettings } from 'zin'

export const loginSettings = defineSettings({
  DEMO_PASSWORD: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Password of the user of the option seed; made and written to .env when empty',
  },
  SIGNATURE_HEADER_PREFIX: {
    type: 'string',
    default: 'x-sig-',
    pattern: '^[a-z][a-z0-9-]*-$',
    summary: 'How the names of the signature headers begin',
  },
})
