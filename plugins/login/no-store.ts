import type { Context } from 'koa'

/** Responses with credentials must not be cached. */
export function noStore(ctx: Context): void {
  ctx.set('Cache-Control', 'no-store')
}
