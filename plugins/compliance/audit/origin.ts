import type { Context, Middleware } from 'koa'
import { type RequestContext, requestContext } from 'zin'

/** Where a request came from. */
export interface Origin {
  /** Of the client, as the app sees it. */
  readonly address: string
  /** Header `x-audit-reason`: why the action is requested. */
  readonly reason: string | undefined
}

export const reasonHeader = 'x-audit-reason'

/** Remembers where each request came from, for as long as it runs. */
export class Origins {
  readonly #origins = new WeakMap<RequestContext, Origin>()

  readonly middleware: Middleware = (ctx: Context, next) => {
    const context = requestContext()
    const reason = ctx.get(reasonHeader)
    if (context !== undefined) {
      this.#origins.set(context, { address: ctx.ip, reason: reason === '' ? undefined : reason })
    }
    return next()
  }

  /** Of the current request; undefined outside of requests. */
  current(): Origin | undefined {
    const context = requestContext()
    return context && this.#origins.get(context)
  }
}
