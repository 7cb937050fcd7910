import type { Context } from 'koa'
import { withDeadline } from '../util/deadline.js'

/** Access granted to a request, for responses that outlast the check, such as event streams. */
export interface Access {
  /** Maximum remaining time, in ms from now. */
  readonly lastsMs: number
  /** Whether it is still valid. A rejection, or no result within 15 s, counts as no. */
  holds(): Promise<boolean>
}

type Look = () => Access

const noted = Symbol('zin.access')

interface Noted {
  [noted]?: Look[]
}

/**
 * Registers the access of a request. Call it in a middleware that checks revocable or expiring credentials. `look` is called only if
 * a response outlasts the check. `EventStreams` ends a stream when any registered access is no longer valid.
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

/** Returns the access registered for a request; empty for a route without credentials. */
export function accessOf(ctx: Context): readonly Access[] {
  return ((ctx as Noted)[noted] ?? []).map((look) => look())
}

/** How long an access check may take, in ms. */
const maxCheckMs = 15_000

/** Whether every access of a list is still valid. A rejection, or no result within 15 s, counts as no. It never rejects. */
export async function accessHolds(access: readonly Access[]): Promise<boolean> {
  const holds = async (): Promise<boolean> => (await Promise.all(access.map((one) => one.holds()))).every(Boolean)
  return withDeadline(holds(), maxCheckMs, 'no result').catch(() => false)
}
