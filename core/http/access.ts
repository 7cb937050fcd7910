import type { Context } from 'koa'

/** By what a request was let in, for answers that outlast the check, such as event streams. */
export interface Access {
  /** How long it lasts at most, in ms from now. */
  readonly lastsMs: number
  /** Whether it is still good. A rejection counts as no. */
  holds(): Promise<boolean>
}

type Look = () => Access

/**
 * Notes by what a request was let in. Called by a middleware that checks credentials which can end; `look` is called only when an
 * answer outlasts the check. `EventStreams` ends a stream when one of them does not hold any more.
 *
 * @example
 * ctx.middleware('session', async (request, next) => {
 *   const session = await sessions.find(request.cookies.get('session'))
 *   if (session === undefined) throw new ZinError('SESSION_MISSING', 'log in first', { status: 401 })
 *   noteAccess(request, () => ({
 *     lastsMs: session.endsAt - Date.now(),
 *     holds: async () => (await sessions.find(session.id)) !== undefined,
 *   }))
 *   await next()
 * })
 */
export function noteAccess(ctx: Context, look: Look): void {
  const noted = ctx.state.access as Look[] | undefined
  if (noted === undefined) ctx.state.access = [look]
  else noted.push(look)
}

/** All that was noted for a request; nothing for a route that needs no credentials. */
export function accessOf(ctx: Context): readonly Access[] {
  return ((ctx.state.access as readonly Look[] | undefined) ?? []).map((look) => look())
}
