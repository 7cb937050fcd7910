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
  ONE_TIME_TOKEN_INVALID: {
    status: 400,
    message: () => 'The token is not valid any more; request a new mail',
    when: '`/auth/password/reset`, `/auth/email/verify`: the token is unknown, expired or used',
    fix: 'Request a new mail',
  },
  EMAIL_NOT_VERIFIED: {
    status: 403,
    message: () => 'Verify your email first: request a mail and follow its link',
    when: 'A login with the correct password, before the email is verified, with `emailVerification: "required"`',
    fix: 'Send the email to `/auth/email/request`, and the token of the mail to `/auth/email/verify`',
  },
  TOTP_REQUIRED: {
    status: 401,
    stack: false,
    title: 'Unauthorized',
    message: () => 'Send the code of your authenticator app as "code"',
    headers: { 'WWW-Authenticate': 'Bearer' },
    when: 'A login with the correct password but without `code`, of a user with a second factor',
    fix: 'Log in with `code`: six digits of the authenticator app, or a recovery code',
  },
  TOTP_INVALID: {
    status: 401,
    stack: false,
    title: 'Unauthorized',
    message: () => 'The code is wrong, or was used before',
    headers: { 'WWW-Authenticate': 'Bearer' },
    when: 'A code is wrong, too old or ahead by more than 30 s, or was used before',
    fix: 'Wait for the next code; check the clock of the device',
  },
  TOTP_ENABLED: {
    status: 409,
    message: () => 'A second factor is enabled already; disable it first',
    when: '`/auth/totp`, `/auth/totp/confirm`: the user has a confirmed second factor',
    fix: 'Disable it by `/auth/totp/disable`, or `zin user:totp-reset`',
  },
  TOTP_NOT_ENROLLED: {
    status: 409,
    message: () => 'No second factor is set up; create one by POST /auth/totp',
    when: 'The user has no second factor that this needs',
    fix: 'Send `POST /auth/totp`, then the first code to `/auth/totp/confirm`',
  },
  TOTP_UNREADABLE: {
    status: 500,
    message: () => 'login: the secret of a second factor cannot be decrypted: APP_KEY was changed without APP_KEY_BK',
    when: 'The secret of a second factor was encrypted with another `APP_KEY`',
    fix: 'Add the earlier key to `APP_KEY_BK`, or run `zin user:totp-reset`',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    message: (retryAfterMs: number) => `Too many attempts; try again in ${secondsOf(retryAfterMs)} s`,
    headers: (retryAfterMs: number) => ({ 'Retry-After': String(secondsOf(retryAfterMs)) }),
    when: 'Too many attempts to log in, of codes, or requests of mails',
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
    when: '`user:add`, `loginUsersService`: the email is already in use',
    fix: 'Choose another; `zin user:list` shows all',
  },
  USER_NOT_FOUND: {
    status: 404,
    message: (email: string) => `No user has the email "${email}"; see zin user:list`,
    when: '`user:password`, `user:role`, `user:logout`, `user:disable`, `user:enable`, `user:delete`, `user:totp-reset`: no user has the email',
    fix: 'Correct it; `zin user:list` shows all',
  },
  USER_INVALID: {
    status: 400,
    message: (what: string) => what,
    when: '`user:add`, `user:password`, `user:role`, `/auth/password/reset`, `loginUsersService`: an invalid email address, a password of fewer than 8 or more than 128 characters, or a role that is empty or has more than 100',
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
    when: 'At boot: options that exclude each other, or without what they need: `database`, `APP_KEY`, a listener that sends mails',
    fix: 'Do what the message says',
  },
})

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
