import { defineSettings } from 'zin'
import { appKeySettings, earlierAppKeySettings } from 'zin/plugins/jwt'

export const sessionsSettings = defineSettings({
  SESSION_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret that signs the cookies, at least 32 bytes in production. When empty, a key derived from `APP_KEY`',
  },
  SESSION_SECRET_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Earlier secrets, newest first: JSON array of strings. Cookies that they signed stay valid and are signed again when they are used; so it is with `APP_KEY_BK`',
  },
  ...appKeySettings,
  ...earlierAppKeySettings,
})
