import { defineErrors } from 'zin'

export const encryptionErrors = defineErrors({
  COMPLIANCE_ENCRYPTION_KEY_MISSING: {
    message: () =>
      'Neither APP_KEY nor WORKER_ENCRYPTION_KEYS is set, but WORKER_ENCRYPTION requires one of them; set APP_KEY to at least 32 random bytes in the environment or .env',
    when: 'At boot in production: `WORKER_ENCRYPTION` is true and no key is set',
    fix: 'Set `APP_KEY` or `WORKER_ENCRYPTION_KEYS`, or `WORKER_ENCRYPTION` to false',
  },
  COMPLIANCE_KEY_INVALID: {
    message: (entry: number, what: string) =>
      `Entry ${entry} of WORKER_ENCRYPTION_KEYS ${what}. Generate a key with \`node -e "console.log(crypto.randomBytes(32).toString('base64'))"\``,
    when: 'At boot: an entry of `WORKER_ENCRYPTION_KEYS` has no id, repeats an id, or its key is not 32 bytes of base64',
    fix: 'Write `<id>:<32 bytes as base64>`',
  },
  COMPLIANCE_FIELD_ENCRYPTED: {
    message: (queue: string, path: string) =>
      `Jobs of queue "${queue}" cannot be searched by "${path}" because it is stored encrypted. If it is not personal data, add it to clearFields of compliance(), which stores a readable copy; otherwise remove it from search of queues()`,
    when: 'At boot: the option `search` of the plugin `queues` declares a field that `WORKER_ENCRYPTION` encrypts',
    fix: 'Declare the field in `clearFields` too, or remove it from `search`',
  },
})
