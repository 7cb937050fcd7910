import { defineErrors } from '../errors.js'

/** What is wrong with the secrets of an app. */
export const signingErrors = defineErrors({
  SIGNING_SECRET_BACKUPS_INVALID: {
    message: (setting: string, why: string, entries: string) => `${setting}: ${why}; it must be a JSON array of ${entries}, newest first`,
    when: 'A setting of earlier secrets is malformed',
    fix: 'Set it to a JSON array of secrets, newest first',
  },
})
