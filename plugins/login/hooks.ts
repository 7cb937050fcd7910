import type { Context } from 'koa'
import type { HookSpecs, Settle } from 'zin'
import type { Claims } from 'zin/plugins/jwt'

export interface LoginHooks {
  onLogin: Settle<[ctx: Context, user: Claims]>
  onLogout: Settle<[ctx: Context, user: Claims, everywhere: boolean]>
}

export const loginHooks = {
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
