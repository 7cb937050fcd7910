import { defineErrors } from 'zin'

export const loginErrors = defineErrors({
  INVALID_CREDENTIALS: {
    status: 401,
    title: 'Unauthorized',
    message: () => 'Email or password is wrong',
    headers: { 'WWW-Authenticate': 'Bearer' },
    when: 'The user is unknown or disabled, or the password is wrong',
    fix: 'Log in with the right ones',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    message: (retryAfterMs: number) => `Too many attempts to log in; try again in ${secondsOf(retryAfterMs)} s`,
    headers: (retryAfterMs: number) => ({ 'Retry-After': String(secondsOf(retryAfterMs)) }),
    when: 'Too many attempts to log in',
    fix: 'Wait for `Retry-After`',
  },
  LOGIN_BUSY: {
    status: 503,
    message: () => 'Too many people log in right now; try again in a second',
    headers: { 'Retry-After': '1' },
    when: 'More passwords wait to be checked than the machine can check soon',
    fix: 'Try again after `Retry-After`; raise `passwordChecks` on a larger machine',
  },
  USER_EXISTS: {
    status: 409,
    message: (email: string) => `A user with the email "${email}" exists already; see zin user:list`,
    when: '`user:add`: the email is taken',
    fix: 'Choose another; `zin user:list` shows all',
  },
  USER_NOT_FOUND: {
    status: 404,
    message: (email: string) => `No user has the email "${email}"; see zin user:list`,
    when: '`user:password`, `user:disable`, `user:enable`: no user has the email',
    fix: 'Correct it; `zin user:list` shows all',
  },
  USER_INVALID: {
    status: 400,
    message: (what: string) => what,
    when: '`user:add`, `user:password`: no email address, a password of fewer than 8 or more than 128 characters, or an empty role',
    fix: 'Correct what the message names',
  },
  LOGIN_USERS_MISSING: {
    message: () =>
      'login: there are no users to check against; enable the plugin database for the built-in users table, or give login({ verifyCredentials })',
    when: 'At boot: neither the plugin `database` nor `verifyCredentials` is there',
    fix: 'Enable `database`, or pass `verifyCredentials`',
  },
  LOGIN_OPTION_INVALID: {
    message: (what: string) => `login: ${what}`,
    when: 'At boot: options that are mutually exclusive',
    fix: 'Remove one of them',
  },
})

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
