import { defineErrors } from '../errors.js'

/** Errors of requests to untrusted URLs. Messages contain the origin only: paths and queries of such URLs may contain secrets. */
export const egressErrors = defineErrors({
  EGRESS_BLOCKED: {
    status: 400,
    message: (target: string, why: string) => `A request to ${target} is not allowed: ${why}`,
    when: 'The URL of a request, or an address that it resolves to, is not allowed',
    fix: 'Use a public https address, or allow this one',
  },
  EGRESS_TOO_LARGE: {
    status: 502,
    message: (origin: string, limit: number) => `${origin} responded with more than ${limit} bytes, the maximum allowed`,
    when: 'An external response is larger than its limit',
    fix: 'Return a smaller response from that address',
  },
  EGRESS_TIMEOUT: {
    status: 504,
    message: (origin: string, ms: number) => `${origin} did not respond within ${ms} ms`,
    when: 'An external response did not arrive in time',
    fix: 'Try again, or check the remote server',
  },
  EGRESS_FAILED: {
    status: 502,
    message: (origin: string, why: string) => `The request to ${origin} failed: ${why}`,
    when: 'An external request failed',
    fix: 'Check the cause named in the message',
  },
})
