import type { Context } from 'koa'

/** What gave a request access, for responses that outlast the check, such as event streams. */
export interface Access {
  /** How long it lasts at most, in ms from now. */
  readonly lastsMs: number
  /** Whether it is still good. A rejection counts as no. */
  holds(): Promise<boolean>
}

type Look = () => Access

const noted = Symbol('zin.access')

interface Noted {
  [noted]?: Look[]
}

/**
 * Notes what gave a request access. Called by a middleware that checks credentials which can end; `look` is called only when a
 * response outlasts the check. `EventStreams` ends a stream when one of them does not hold any more.
 *
 * @example
 * import { defineMiddleware, noteAccess, refuse } from 'zin'
 *
 * interface Sessions {
 *   endOf(id: string): Promise<number | undefined>
 * }
 *
 * export const sessionGuard = (sessions: Sessions) =>
 *   defineMiddleware({
 *     key: 'session',
 *     async handler(ctx, next) {
 *       const id = ctx.cookies.get('session') ?? ''
 *       const endsAt = await sessions.endOf(id)
 *       if (endsAt === undefined) return refuse(ctx, 'session', 'Session')
 *       noteAccess(ctx, () => ({
 *         lastsMs: endsAt - Date.now(),
 *         holds: async () => (await sessions.endOf(id)) !== undefined,
 *       }))
 *       return next()
 *     },
 *   })
 */
export function noteAccess(ctx: Context, look: Look): void {
  const own = ctx as Noted
  if (own[noted] === undefined) own[noted] = [look]
  else own[noted].push(look)
}

/** All that was noted for a request; nothing for a route that needs no credentials. */
export function accessOf(ctx: Context): readonly Access[] {
  return ((ctx as Noted)[noted] ?? []).map((look) => look())
}
