import { defineRoute, type Manage, type Route, refuse } from 'zin'
import { messageResponse, sessionResponse } from './schema.js'

export interface SessionRouteParts {
  readonly manage: Manage
  /** Ends all sessions of a user, and everything else that they are logged in with. */
  readonly endAll: (sub: string | number) => Promise<void>
}

const use = ['sessions'] as const

export function sessionRoutes({ manage, endAll }: SessionRouteParts): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/auth/session',
      summary: 'The session of the browser and its CSRF token; starts one',
      use,
      response: sessionResponse,
      handler: (ctx) => {
        const { user = null, csrfToken, expiresAt } = ctx.session
        ctx.set('Cache-Control', 'no-store')
        return { user, csrfToken, expiresAt }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/auth/session',
      summary: 'Ends the session of the browser',
      use,
      response: messageResponse,
      handler: async (ctx) => {
        const { session } = ctx
        const end = async (): Promise<void> => session.destroy()
        if (session.user === undefined) await end()
        else await manage({ action: 'logout', target: `user:${session.user.sub}` }, end)
        return { message: 'Logged out' }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/auth/sessions',
      summary: 'Ends all sessions and tokens of the user of the session',
      use,
      response: messageResponse,
      handler: async (ctx) => {
        const { session } = ctx
        const { user } = session
        if (user === undefined) return refuse(ctx, 'sessions', 'Session')
        await manage({ action: 'logout.everywhere', target: `user:${user.sub}` }, () => endAll(user.sub))
        session.destroy()
        return { message: 'Logged out everywhere' }
      },
    }),
  ]
}
