import { defineErrors, ZinError } from 'zin'

export const loginErrors = defineErrors({
  LOGIN_USERS_MISSING: {
    status: 500,
    message: () =>
      'login: there are no users to check against; enable the plugin database for the built-in users table, or give login({ verifyCredentials })',
  },
  LOGIN_OPTION_INVALID: { status: 500, message: (what: string) => `login: ${what}` },
  USER_EXISTS: { status: 409, message: (email: string) => `A user with the email "${email}" exists already; see zin user:list` },
  USER_NOT_FOUND: { status: 404, message: (email: string) => `No user has the email "${email}"; see zin user:list` },
  USER_INVALID: { status: 400, message: (what: string) => `${what}` },
})

/** One answer for an unknown user, a disabled one and a wrong password. */
export function invalidCredentials(): ZinError {
  return new ZinError('INVALID_CREDENTIALS', 'Email or password is wrong', {
    status: 401,
    title: 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}

export function rateLimited(retryAfterMs: number): ZinError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new ZinError('RATE_LIMITED', `Too many attempts to log in; try again in ${seconds} s`, {
    status: 429,
    title: 'Too many requests',
    headers: { 'Retry-After': String(seconds) },
  })
}

/** More passwords wait to be checked than the machine can check soon. */
export function loginBusy(): ZinError {
  return new ZinError('LOGIN_BUSY', 'Too many people log in right now; try again in a second', {
    status: 503,
    headers: { 'Retry-After': '1' },
  })
}
