import type { Context, Middleware } from 'koa'
import { type RequestContext, requestContext } from 'zin'

/** The origin of a request. */
export interface Origin {
  /** Client address, as seen by the app. */
  readonly address: string
  /** Reason from the header `x-audit-reason`. */
  readonly reason: string | undefined
}

export const reasonHeader = 'x-audit-reason'

/** Tracks the origin of each request while it runs. */
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

  /** Returns the origin of the current request; undefined outside of requests. */
  current(): Origin | undefined {
    const context = requestContext()
    return context && this.#origins.get(context)
  }
}
