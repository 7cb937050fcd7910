import type { Context } from 'koa'
import type { EndedRequest } from '../hooks/catalogue.js'
import type { NotifySlot } from '../hooks/kinds.js'
import type { Logger, LogLevel } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { logAccess } from './access-log.js'
import type { RequestContext } from './request-context.js'
import { pathOf } from './target.js'

export interface RequestEndParts {
  readonly log: Logger
  readonly clock: Clock
  readonly logRequests: boolean
  readonly requestEnd: NotifySlot<[EndedRequest]>
}

/** A request as it arrived. */
export interface ArrivedRequest {
  readonly context: RequestContext
  /** The id that the client sent. */
  readonly inbound: string | undefined
  readonly isProbe: boolean
}

/** Log levels at which the line of a request is written. */
const logged: Readonly<Record<'debug' | 'info', readonly LogLevel[]>> = { debug: ['trace', 'debug'], info: ['trace', 'debug', 'info'] }

/**
 * Logs a request and fires `onRequestEnd` once its response has ended. Both share one listener and one measurement, which cost more than
 * the line and the call themselves.
 */
export function followToEnd(parts: RequestEndParts, ctx: Context, { context, inbound, isProbe }: ArrivedRequest): void {
  const { clock, log, logRequests, requestEnd } = parts
  const level = isProbe ? 'debug' : 'info'
  const isLogged = logRequests && logged[level].includes(log.level)
  const isReported = requestEnd.active
  if (!isLogged && !isReported) return
  const { method, originalUrl, res } = ctx
  const path = pathOf(originalUrl)
  const began = clock.monotonic()
  // It comes once, so that taking the listener off again would be lost work.
  res.on('close', () => {
    const ms = clock.monotonic() - began
    if (isLogged) logAccess(log, level, ctx, { method, path, ms, inbound, context })
    if (!isReported) return
    const { requestId: id, route, traceId } = context
    const { statusCode: status, writableFinished: complete } = res
    // The path of a probe is that of its route.
    requestEnd.call({ id, method, route: isProbe ? path : route?.path, status, ms, complete, traceId })
  })
}
