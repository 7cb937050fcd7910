import { defineErrors } from '../errors.js'

/** How requests to addresses that others name fail. Messages carry the origin at most: paths and queries of such URLs hold secrets. */
export const egressErrors = defineErrors({
  EGRESS_BLOCKED: { status: 400, message: (target: string, why: string) => `A request to ${target} is not allowed: ${why}` },
  EGRESS_TOO_LARGE: {
    status: 502,
    message: (origin: string, limit: number) => `${origin} answered with more than ${limit} bytes, the most that is taken`,
  },
  EGRESS_TIMEOUT: { status: 504, message: (origin: string, ms: number) => `${origin} did not answer within ${ms} ms` },
  EGRESS_FAILED: { status: 502, message: (origin: string, why: string) => `The request to ${origin} failed: ${why}` },
})
