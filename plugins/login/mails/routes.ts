import { defineRoute, type Manage, type Route, Type, withinAuthBudget } from 'zin'
import { noStore } from '../no-store.js'
import { messageResponse } from '../schema.js'
import type { Purpose } from '../store/one-time-tokens.js'
import type { Mails } from './mails.js'

const emailBody = Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) })
const token = Type.String({ minLength: 1, maxLength: 128, description: 'From the mail' })
/** Also for an email that nobody has. */
const sent = { message: 'If the address belongs to an account, a mail is on its way' }

/** The routes of the options `passwordReset` and `emailVerification`. */
export function mailRoutes(mails: Mails, purposes: readonly Purpose[], manage: Manage): readonly Route[] {
  const request = (purpose: Purpose, path: string, summary: string): Route =>
    defineRoute({
      method: 'POST',
      path,
      summary,
      body: emailBody,
      bodyLimit: 2048,
      response: messageResponse,
      handler: async (ctx) => {
        noStore(ctx)
        await withinAuthBudget(ctx, () => mails.request(purpose, ctx.input.body.email, ctx.ip))
        return sent
      },
    })
  /** The user of a token is known only afterwards. */
  const managed = (action: string, work: () => Promise<{ readonly userId: string }>): Promise<unknown> => {
    const actor = { kind: 'user', id: 'one-time-token', via: 'http' } as const
    return manage({ action, target: 'user:unknown', actor }, async (note) => {
      const { userId } = await work()
      note({ actor: { ...actor, id: userId }, target: `user:${userId}` })
    })
  }
  const byPurpose: Readonly<Record<Purpose, () => readonly Route[]>> = {
    password: () => [
      request('password', '/auth/password/forgot', 'Has a token to reset the password mailed; responds alike for unknown emails'),
      defineRoute({
        method: 'POST',
        path: '/auth/password/reset',
        summary: 'Sets a new password by a token from a mail, and ends every session of the user',
        body: Type.Object({ token, password: Type.String({ minLength: 1, maxLength: 128 }) }),
        bodyLimit: 2048,
        response: messageResponse,
        handler: async (ctx) => {
          noStore(ctx)
          const { token, password } = ctx.input.body
          await withinAuthBudget(ctx, () => managed('password.reset', () => mails.resetPassword(token, password)))
          return { message: 'The password is set; log in with it' }
        },
      }),
    ],
    email: () => [
      request('email', '/auth/email/request', 'Has a token to verify the email mailed; responds alike for unknown and verified emails'),
      defineRoute({
        method: 'POST',
        path: '/auth/email/verify',
        summary: 'Verifies an email by a token from a mail',
        body: Type.Object({ token }),
        bodyLimit: 2048,
        response: messageResponse,
        handler: async (ctx) => {
          noStore(ctx)
          await withinAuthBudget(ctx, () => managed('email.verify', () => mails.verifyEmail(ctx.input.body.token)))
          return { message: 'The email is verified' }
        },
      }),
    ],
  }
  return purposes.flatMap((purpose) => byPurpose[purpose]())
}
