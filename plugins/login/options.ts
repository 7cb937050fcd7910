import { Type } from 'typebox'

/** A person whose credentials were right. */
export interface VerifiedUser {
  /** Becomes the claim `sub`. */
  readonly id: string | number
  readonly email: string
  readonly role?: string | undefined
}

/** Options of `login()`. */
export interface LoginOptions {
  /**
   * Checks credentials in the place of the built-in users table. It should take the same time for unknown users as for
   * wrong passwords.
   */
  readonly verifyCredentials?: (email: string, password: string) => Promise<VerifiedUser | undefined>
  /** Attempts per email and address. */
  readonly attemptsPerMinute: number
  readonly attemptsPerHour: number
  /** Attempts per address, whatever the email. */
  readonly addressAttemptsPerMinute: number
  readonly addressAttemptsPerHour: number
  /** Attempts per email: those of strangers together, and those of each address and device from which the user logged in within 30 days. */
  readonly accountAttemptsPerMinute: number
  /** Binds the token to the time zone that the client sends with the login (claim `tz`). */
  readonly bindTimezone: boolean
  /** Binds the token to the User-Agent of the login (claim `uaHash`). */
  readonly bindUserAgent: boolean
  /** Passwords that are checked at the same time; each takes 19 MiB and a thread of the pool. */
  readonly passwordChecks: number
  /** A user that is made at the first start, for demos. */
  readonly seed?: { readonly email: string; readonly role?: string; readonly passwordSetting: 'DEMO_PASSWORD' }
}

const limit = Type.Integer({ minimum: 1, maximum: 1_000_000 })

export const loginOptions = {
  schema: Type.Object(
    {
      // A function; JSON schema has no word for it.
      verifyCredentials: Type.Optional(Type.Unsafe<NonNullable<LoginOptions['verifyCredentials']>>({})),
      attemptsPerMinute: limit,
      attemptsPerHour: limit,
      addressAttemptsPerMinute: limit,
      addressAttemptsPerHour: limit,
      accountAttemptsPerMinute: limit,
      bindTimezone: Type.Boolean(),
      bindUserAgent: Type.Boolean(),
      passwordChecks: Type.Integer({ minimum: 1, maximum: 64 }),
      seed: Type.Optional(
        Type.Object(
          {
            email: Type.String({ minLength: 1, maxLength: 320 }),
            role: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
            passwordSetting: Type.Literal('DEMO_PASSWORD'),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
  defaults: {
    attemptsPerMinute: 5,
    attemptsPerHour: 20,
    addressAttemptsPerMinute: 60,
    addressAttemptsPerHour: 600,
    accountAttemptsPerMinute: 10,
    bindTimezone: false,
    bindUserAgent: false,
    passwordChecks: 2,
  } as LoginOptions,
}
