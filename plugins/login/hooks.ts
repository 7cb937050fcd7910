import type { Context } from 'koa'
import type { HookSpecs, Settle } from 'zin'
import type { Claims } from 'zin/plugins/jwt'

/** A mail that the app sends to a user. Put the token into a link to a page of yours, and never into a log. */
export interface AccountMail {
  readonly user: { readonly id: string; readonly email: string; readonly role: string }
  /** Valid once, until `expiresAt`. */
  readonly token: string
  /** ms since 1970. */
  readonly expiresAt: number
}

export interface LoginHooks {
  sendPasswordReset: Settle<[mail: AccountMail]>
  sendEmailVerification: Settle<[mail: AccountMail]>
  onLogin: Settle<[ctx: Context, user: Claims]>
  onLogout: Settle<[ctx: Context, user: Claims, everywhere: boolean]>
}

export const loginHooks = {
  sendPasswordReset: {
    kind: 'settle',
    args: ['mail'],
    summary:
      'A user asked to reset the password: mail `{ user, token, expiresAt }` as a link; your page sends the token to `/auth/password/reset`',
  },
  sendEmailVerification: {
    kind: 'settle',
    args: ['mail'],
    summary: 'A user must prove an email: mail `{ user, token, expiresAt }` as a link; your page sends the token to `/auth/email/verify`',
  },
  onLogin: {
    kind: 'settle',
    args: ['ctx', 'user'],
    summary: 'A user logged in by `POST /auth/login`; `user` are the claims of the new token. The response waits; a failure ends the login',
  },
  onLogout: {
    kind: 'settle',
    args: ['ctx', 'user', 'everywhere'],
    summary: 'A user logged out; `everywhere` by `/auth/logout-all`. The response waits, and fails if a listener fails',
  },
} satisfies HookSpecs<LoginHooks>

declare module 'zin' {
  interface HookMap extends LoginHooks {}
}
