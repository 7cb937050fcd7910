import { defineErrors } from 'zin'

export const encryptionErrors = defineErrors({
  COMPLIANCE_ENCRYPTION_KEY_MISSING: {
    message: () =>
      'Neither APP_KEY nor WORKER_ENCRYPTION_KEYS is set, and WORKER_ENCRYPTION needs one; set APP_KEY to 32 random bytes or more',
    when: 'At boot in production: `WORKER_ENCRYPTION` is true and there is no key',
    fix: 'Set `APP_KEY` or `WORKER_ENCRYPTION_KEYS`, or `WORKER_ENCRYPTION` to false',
  },
  COMPLIANCE_KEY_INVALID: {
    message: (entry: number, what: string) =>
      `Entry ${entry} of WORKER_ENCRYPTION_KEYS ${what}. Make a key with \`node -e "console.log(crypto.randomBytes(32).toString('base64'))"\``,
    when: 'At boot: an entry of `WORKER_ENCRYPTION_KEYS` has no id, an id twice, or a key that is not 32 bytes of base64',
    fix: 'Write `<id>:<32 bytes as base64>`',
  },
  COMPLIANCE_FIELD_ENCRYPTED: {
    message: (queue: string, path: string) =>
      `Jobs of queue "${queue}" cannot be found by "${path}", which is stored encrypted. Add it to clearFields of compliance(), which stores a readable copy of it, if it is no personal data; or remove it from search of queues()`,
    when: 'At boot: the option `search` of the plugin `queues` declares a field that `WORKER_ENCRYPTION` encrypts',
    fix: 'Declare the field in `clearFields` too, or remove it from `search`',
  },
})
