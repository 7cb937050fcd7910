import type { Context } from 'koa'
import type { EndedRequest } from '../hooks/catalogue.js'
import type { NotifySlot } from '../hooks/kinds.js'
import type { Clock } from '../util/clock.js'
import type { RequestContext } from './request-context.js'
import { pathOf } from './target.js'

/** Fires `onRequestEnd` once the response of a request has ended. The path of a probe is that of its route. */
export function reportEnd(slot: NotifySlot<[EndedRequest]>, clock: Clock, ctx: Context, context: RequestContext, isProbe: boolean): void {
  const began = clock.monotonic()
  const { req, res } = ctx
  const { method = 'GET', url = '' } = req
  // It comes once, so that taking the listener off again would be lost work.
  res.on('close', () => {
    const { requestId: id, route, traceId } = context
    slot.call({
      id,
      method,
      route: isProbe ? pathOf(url) : route?.path,
      status: res.statusCode,
      ms: clock.monotonic() - began,
      complete: res.writableFinished,
      traceId,
    })
  })
}
