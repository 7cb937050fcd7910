import { defineSettings } from 'zin'
import { signatureSettings } from 'zin/plugins/bulletproof'

export const loginSettings = defineSettings({
  DEMO_PASSWORD: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Password of the user of `seed`, 8 to 128 characters. When it is empty one is created, written to `.env` beside `zin.config.ts` (mode 0600), and printed once to standard output when that is a terminal or `LOG_FORMAT` is `text`',
  },
  ...signatureSettings,
})
