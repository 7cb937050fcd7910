import type { Context } from 'koa'
import { defineRoute, type ListenerFailure, type Route, type SlotOf, withinAuthBudget } from 'zin'
import type { SignatureHeaderNames } from 'zin/signing'
import type { LoginHooks } from './hooks.js'
import { loginBody, loginResponse, meResponse, messageResponse } from './schema.js'
import type { Login } from './service.js'

const proven = ['auth', 'bulletproof'] as const

export interface LoginRouteParts {
  readonly login: Login
  readonly names: SignatureHeaderNames
  readonly loggedIn: SlotOf<LoginHooks['onLogin']>
  readonly loggedOut: SlotOf<LoginHooks['onLogout']>
}

export function loginRoutes({ login, names, loggedIn, loggedOut }: LoginRouteParts): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/auth/login',
      summary: 'Checks credentials and returns a token, a device and its secret',
      body: loginBody,
      bodyLimit: 8192,
      response: loginResponse,
      handler: async (ctx) => {
        noStore(ctx)
        const { headers } = ctx.req
        const timezone = headers[names.timezone]
        const request = {
          ...ctx.input.body,
          address: ctx.ip,
          timezone: typeof timezone === 'string' ? timezone : undefined,
          userAgent: headers['user-agent'],
        }
        const { claims, ...session } = await withinAuthBudget(ctx, () => login.login(request))
        if (loggedIn.active) {
          const [failure] = await loggedIn.call(ctx, claims)
          if (failure !== undefined) {
            await login.logout(claims, session.deviceId)
            throw failure.error
          }
        }
        return session
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/logout',
      summary: 'Revokes the token and removes the device that signed',
      use: proven,
      response: messageResponse,
      handler: async (ctx) => {
        noStore(ctx)
        await withinAuthBudget(ctx, () => login.logout(ctx.request.user, ctx.state.signer.keyId))
        if (loggedOut.active) failFirst(await loggedOut.call(ctx, ctx.request.user, false))
        return { message: 'Logged out' }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/logout-all',
      summary: 'Revokes every token and removes every device of the user',
      use: proven,
      response: messageResponse,
      handler: async (ctx) => {
        noStore(ctx)
        await withinAuthBudget(ctx, () => login.logoutAll(ctx.request.user))
        if (loggedOut.active) failFirst(await loggedOut.call(ctx, ctx.request.user, true))
        return { message: 'Logged out everywhere' }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/me',
      summary: 'The user of a signed request',
      use: proven,
      response: meResponse,
      handler: (ctx) => {
        noStore(ctx)
        const { sub, email, role, deviceId } = ctx.request.user
        return { id: sub, email, role, deviceId }
      },
    }),
  ]
}

function failFirst([failure]: readonly ListenerFailure[]): void {
  if (failure !== undefined) throw failure.error
}

function noStore(ctx: Context): void {
  ctx.set('Cache-Control', 'no-store')
}
