import { defineErrors } from 'zin'

export const rateLimitErrors = defineErrors({
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    message: (_policy: string, retryAfterS: number) => `Too many requests; try again in ${retryAfterS} s`,
    headers: (_policy: string, retryAfterS: number) => ({ 'Retry-After': String(retryAfterS) }),
    details: (policy: string) => ({ policy }),
    stack: false,
    when: 'A caller has used up a limit; `details.policy` is its name, as in the header `RateLimit-Policy`',
    fix: 'Wait for `Retry-After`',
  },
  RATE_LIMIT_STORE_UNAVAILABLE: {
    status: 503,
    message: () => 'Requests cannot be counted, because the store does not respond; try again in a second',
    headers: { 'Retry-After': '1' },
    cause: (cause: unknown) => cause,
    when: 'With `whenStoreFails: refuse`: the store failed or did not respond within `storeTimeoutMs`',
    fix: 'Retry; check Redis or the database',
  },
  RATE_LIMIT_OPTIONS_INVALID: {
    message: (what: string) => `rate-limit: ${what}`,
    when: 'At boot: options that contradict each other',
    fix: 'Correct what the message names',
  },
})
