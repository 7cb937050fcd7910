import { defineErrors } from '../errors.js'

/** Errors of the secrets of an app. */
export const signingErrors = defineErrors({
  SIGNING_SECRET_BACKUPS_INVALID: {
    message: (setting: string, why: string, entries: string) => `${setting}: ${why}; it must be a JSON array of ${entries}, newest first`,
    when: 'A setting with previous secrets is malformed',
    fix: 'Set it to a JSON array of secrets, newest first',
  },
})
