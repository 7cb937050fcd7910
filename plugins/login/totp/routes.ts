import { defineRoute, type Manage, type Route, Type, withinAuthBudget } from 'zin'
import { loginErrors } from '../errors.js'
import { noStore } from '../no-store.js'
import { messageResponse } from '../schema.js'
import type { SecondFactor } from './second-factor.js'

const proven = ['auth', 'bulletproof'] as const
const codeBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, description: 'Of the authenticator, or a recovery code' }),
})
const codesResponse = {
  200: Type.Object({ recoveryCodes: Type.Array(Type.String(), { description: 'Each logs in once; shown only in this response' }) }),
}

/** The routes of the option `totp`. All of them are signed by a device of the user. */
export function totpRoutes(factor: SecondFactor, manage: Manage): readonly Route[] {
  const userOf = (user: { readonly sub?: string | number }): string => {
    if (user.sub === undefined) throw loginErrors.TOTP_NOT_ENROLLED()
    return String(user.sub)
  }
  const managed = <T>(verb: string, userId: string, work: () => Promise<T>): Promise<T> =>
    manage({ action: `totp.${verb}`, target: `user:${userId}` }, work)

  return [
    defineRoute({
      method: 'GET',
      path: '/auth/totp',
      summary: 'Whether logins of the user need a code, and how many recovery codes are left',
      use: proven,
      response: { 200: Type.Object({ enabled: Type.Boolean(), recoveryCodes: Type.Integer() }) },
      handler: (ctx) => {
        noStore(ctx)
        return withinAuthBudget(ctx, () => factor.status(userOf(ctx.request.user)))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/totp',
      summary: 'Creates the secret of an authenticator app, which takes effect once it is confirmed',
      use: proven,
      response: { 200: Type.Object({ secret: Type.String(), uri: Type.String({ description: 'For a QR code' }) }) },
      handler: (ctx) => {
        noStore(ctx)
        const { user } = ctx.request
        const userId = userOf(user)
        return withinAuthBudget(ctx, () => managed('enrol', userId, () => factor.enrol(userId, user.email ?? userId)))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/totp/confirm',
      summary: 'Confirms the secret by a first code; logins need a code from then on',
      use: proven,
      body: codeBody,
      response: codesResponse,
      handler: async (ctx) => {
        noStore(ctx)
        const userId = userOf(ctx.request.user)
        const { code } = ctx.input.body
        return { recoveryCodes: await withinAuthBudget(ctx, () => managed('confirm', userId, () => factor.confirm(userId, code))) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/totp/recovery-codes',
      summary: 'Replaces the recovery codes',
      use: proven,
      body: codeBody,
      response: codesResponse,
      handler: async (ctx) => {
        noStore(ctx)
        const userId = userOf(ctx.request.user)
        const renew = () => factor.renewCodes(userId, ctx.input.body.code)
        return { recoveryCodes: await withinAuthBudget(ctx, () => managed('recovery-codes', userId, renew)) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/auth/totp/disable',
      summary: 'Removes the second factor',
      use: proven,
      body: codeBody,
      response: messageResponse,
      handler: async (ctx) => {
        noStore(ctx)
        const userId = userOf(ctx.request.user)
        await withinAuthBudget(ctx, () => managed('disable', userId, () => factor.disable(userId, ctx.input.body.code)))
        return { message: 'Logins need no code any more' }
      },
    }),
  ]
}
