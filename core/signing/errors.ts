import { defineErrors } from '../errors.js'

/** What is wrong with the secrets of an app. */
export const signingErrors = defineErrors({
  SIGNING_SECRET_BACKUPS_INVALID: {
    message: (setting: string, why: string) =>
      `${setting}: ${why}; it must be a JSON array of secrets${setting === 'BULLETPROOF_SIGNING_SECRET_BK' ? ' or of {"secret", "notAfter"}' : ''}, newest first`,
    when: 'A setting of earlier secrets is malformed',
    fix: 'Set it to a JSON array of secrets, newest first',
  },
})
