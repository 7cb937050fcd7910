import { defineErrors } from 'zin'

export const loginErrors = defineErrors({
  INVALID_CREDENTIALS: {
    status: 401,
    title: 'Unauthorized',
    message: () => 'Email or password is wrong',
    headers: { 'WWW-Authenticate': 'Bearer' },
    when: 'The user is unknown or disabled, or the password is wrong',
    fix: 'Log in with the correct credentials',
  },
  REFRESH_TOKEN_INVALID: {
    status: 401,
    stack: false,
    title: 'Unauthorized',
    // The reason is for logs and tests only.
    message: (_why: string) => 'The refresh token is not valid; log in again',
    headers: { 'WWW-Authenticate': 'Bearer' },
    cause: (why: string) => new Error(why),
    when: '`POST /auth/refresh`: the refresh token is unknown, expired or was used before, or its device or user is gone',
    fix: 'Log in again; send requests with the same refresh token one after the other',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    message: (retryAfterMs: number) => `Too many login attempts; try again in ${secondsOf(retryAfterMs)} s`,
    headers: (retryAfterMs: number) => ({ 'Retry-After': String(secondsOf(retryAfterMs)) }),
    when: 'Too many login attempts',
    fix: 'Wait for `Retry-After`',
  },
  LOGIN_BUSY: {
    status: 503,
    message: () => 'Too many logins in progress; try again in a second',
    headers: { 'Retry-After': '1' },
    when: 'Too many password checks are waiting',
    fix: 'Retry after `Retry-After`; raise `passwordChecks` on a larger machine',
  },
  USER_EXISTS: {
    status: 409,
    message: (email: string) => `A user with the email "${email}" already exists; see zin user:list`,
    when: '`user:add`: the email is already in use',
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
    when: '`user:add`, `user:password`: an invalid email address, a password of fewer than 8 or more than 128 characters, or an empty role',
    fix: 'Correct what the message names',
  },
  LOGIN_USERS_MISSING: {
    message: () =>
      'login: there are no users to check against; enable the plugin database for the built-in users table, or pass login({ verifyCredentials })',
    when: 'At boot: neither the plugin `database` is enabled nor `verifyCredentials` set',
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
