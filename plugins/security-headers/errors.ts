import { defineErrors } from 'zin'

export const securityHeadersErrors = defineErrors({
  SECURITY_HEADERS_INVALID: {
    message: (problem: string) => `security-headers: ${problem}`,
    when: 'A Content-Security-Policy is not valid',
    fix: 'Correct what the message names',
  },
})
