import { defineSettings } from 'zin'
import { signatureSettings } from 'zin/plugins/bulletproof'
import { appKeySettings, earlierAppKeySettings } from 'zin/plugins/jwt'

export const loginSettings = defineSettings({
  DEMO_PASSWORD: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Password of the `seed` user, 8 to 128 characters. When empty, a password is generated, written to `.env` beside `zin.config.ts` (mode 0600), and printed once to standard output if that is a terminal or `LOG_FORMAT` is `text`',
  },
  ...signatureSettings,
  ...appKeySettings,
  ...earlierAppKeySettings,
})
