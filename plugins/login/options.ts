import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

/** A user whose credentials were correct. */
export interface VerifiedUser {
  /** Becomes the claim `sub`. */
  readonly id: string | number
  readonly email: string
  readonly role?: string | undefined
}

/** Checks credentials. It should take the same time for unknown users as for wrong passwords. */
export type VerifyCredentials = (email: string, password: string) => Promise<VerifiedUser | undefined>

/** Looks up a user by the `id` that `verifyCredentials` returned. */
export type FindUser = (id: string | number) => Promise<VerifiedUser | undefined>

/** Options of `login()`. */
export type LoginOptions = OptionsOf<typeof loginOptions>

const limit = { minimum: 1, maximum: 1_000_000 }

export const loginOptions = defineOptions(
  Type.Object({
    verifyCredentials: Type.Optional(
      functionOption<VerifyCredentials>({
        description:
          '`(email, password) => Promise<{ id, email, role? } | undefined>`, instead of the built-in users table. It should take the same time for unknown users as for wrong passwords',
      }),
    ),
    attemptsPerMinute: Type.Integer({ ...limit, default: 5, description: 'Attempts per email and address' }),
    attemptsPerHour: Type.Integer({ ...limit, default: 20, description: 'Attempts per email and address' }),
    addressAttemptsPerMinute: Type.Integer({ ...limit, default: 60, description: 'Attempts per address, whatever the email' }),
    addressAttemptsPerHour: Type.Integer({ ...limit, default: 600, description: 'Attempts per address, whatever the email' }),
    accountAttemptsPerMinute: Type.Integer({
      ...limit,
      default: 10,
      description:
        'Attempts per email from all addresses together; an address or device from which the user logged in within 30 days has a separate limit of the same size',
    }),
    bindTimezone: Type.Boolean({ default: false, description: 'Copies the header `x-sig-timezone` of the login into the claim `tz`' }),
    bindUserAgent: Type.Boolean({ default: false, description: 'Puts the SHA-256 of the User-Agent into the claim `uaHash`' }),
    refreshTokens: Type.Boolean({
      default: true,
      description: 'Whether a login returns a `refreshToken`, and `POST /auth/refresh` exists',
    }),
    refreshIdleSeconds: Type.Integer({
      minimum: 60,
      maximum: 31_536_000,
      default: 2_592_000,
      description: 'Lifetime of a refresh token, in seconds: after such a time without a refresh, the user must log in again',
    }),
    refreshMaxSeconds: Type.Integer({
      minimum: 60,
      maximum: 315_360_000,
      default: 7_776_000,
      description: 'How long after a login its tokens can be refreshed, in seconds',
    }),
    refreshSigned: Type.Boolean({
      default: false,
      description:
        'Whether `POST /auth/refresh` must be signed by the device of the login. A signature that is sent is verified in any case',
    }),
    findUser: Type.Optional(
      functionOption<FindUser>({
        description:
          '`(id) => Promise<{ id, email, role? } | undefined>`, beside `verifyCredentials`: the user as of now, asked at each refresh; `undefined` for one that is gone or disabled. Without it, a refresh keeps email and role of the login',
      }),
    ),
    totp: Type.Boolean({
      default: false,
      description:
        'Whether users can add a second factor (TOTP): the routes `/auth/totp`, and `code` in a login. Needs the plugin `database`, `APP_KEY` and the package `otpauth`',
    }),
    totpIssuer: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, pattern: '^[^:]+$', description: 'Name in the authenticator app. Default: the app name' }),
    ),
    passwordReset: Type.Boolean({
      default: false,
      description: 'Whether users can reset a forgotten password: the routes `/auth/password`. Needs a listener of `sendPasswordReset`',
    }),
    passwordResetSeconds: Type.Integer({
      minimum: 60,
      maximum: 86_400,
      default: 3_600,
      description: 'Lifetime of a token to reset the password, in seconds',
    }),
    emailVerification: Type.Union([Type.Literal('off'), Type.Literal('optional'), Type.Literal('required')], {
      default: 'off',
      description:
        'Whether users can, or before a login must, prove their email: the routes `/auth/email`. Needs a listener of `sendEmailVerification`',
    }),
    emailVerificationSeconds: Type.Integer({
      minimum: 60,
      maximum: 2_592_000,
      default: 86_400,
      description: 'Lifetime of a token to verify an email, in seconds',
    }),
    mailsPerHour: Type.Integer({ minimum: 1, maximum: 1_000, default: 3, description: 'Mails of each kind per email and hour' }),
    addressMailsPerHour: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 30,
      description: 'Requests of mails per address and hour, whatever the email',
    }),
    passwordChecks: Type.Integer({
      minimum: 1,
      maximum: 64,
      default: 2,
      description: 'Concurrent password checks (19 MiB each); up to 32 times as many wait, further ones fail with `LOGIN_BUSY`',
    }),
    seed: Type.Optional(
      Type.Object(
        {
          email: Type.String({ minLength: 1, maxLength: 320 }),
          role: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
          passwordSetting: Type.Literal('DEMO_PASSWORD'),
        },
        {
          additionalProperties: false,
          description:
            "`{ email, role?, passwordSetting: 'DEMO_PASSWORD' }`: a demo user, created at startup if it does not exist; not in production, where `zin user:add` creates users",
        },
      ),
    ),
  }),
)
