import { defineErrors } from '../errors.js'

export const utilErrors = defineErrors({
  ZIN_DEADLINE: {
    status: 503,
    message: (text: string) => text,
    when: 'Work that the message names, such as the call of a store, did not finish within its deadline',
    fix: 'Try again; if it stays slow, check the store or service that the message names',
  },
})
