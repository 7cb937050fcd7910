import type { Context } from 'koa'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { pathOf } from './target.js'

/** Logs a request once its answer ended, without its query, which may hold secrets. */
export function logAccess(log: Logger, clock: Clock, ctx: Context, requestId: string): void {
  const began = clock.monotonic()
  const { method } = ctx
  const path = pathOf(ctx.originalUrl)
  ctx.res.once('close', () => {
    const ms = Math.round(clock.monotonic() - began)
    log.debug({ requestId, method, path, status: ctx.res.statusCode, ms, complete: ctx.res.writableFinished }, 'request')
  })
}

const clientLeft = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'])

/** A listener for errors while an answer was on its way. Clients that leave are no fault. */
export function brokenAnswerLog(log: Logger): (error: NodeJS.ErrnoException) => void {
  // Koa tells of a broken stream twice: from the pipeline and from the response.
  const told = new WeakSet<Error>()
  return (error) => {
    if (told.has(error)) return
    told.add(error)
    if (clientLeft.has(error.code ?? '')) log.debug({ err: error }, 'a client left before its answer was complete')
    else log.error({ err: error }, 'an answer broke off')
  }
}
