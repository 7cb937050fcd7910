import { defineService } from 'zin'

export interface NewUser {
  readonly email: string
  /** 8 to 128 characters. */
  readonly password: string
  /** Default `user`. Never take it from a request. */
  readonly role?: string
}

/** The built-in users, for routes of the app such as a sign-up. Rejects with LOGIN_USERS_MISSING with the option `verifyCredentials`. */
export interface LoginUsers {
  /**
   * Adds a user and, with the option `emailVerification`, has a token mailed by `sendEmailVerification`. Rejects with USER_INVALID (400)
   * and USER_EXISTS (409), which tells that an email has an account: limit the rate of a route that shows it.
   */
  add(user: NewUser): Promise<{ readonly id: string; readonly email: string; readonly role: string }>
}

export const loginUsersService = defineService<LoginUsers>('login.users')
