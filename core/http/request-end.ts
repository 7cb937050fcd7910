import type { Context } from 'koa'
import type { EndedRequest } from '../hooks/catalogue.js'
import type { NotifySlot } from '../hooks/kinds.js'
import type { Logger, LogLevel } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { logAccess } from './access-log.js'
import { rawResponse } from './context.js'
import { cutStatus } from './error-responder.js'
import { reportedPath } from './matched-route.js'
import type { RequestContext } from './request-context.js'
import { pathOf } from './target.js'
import { switchingProtocols } from './upgrade.js'

export interface RequestEndParts {
  readonly log: Logger
  readonly clock: Clock
  readonly logRequests: boolean
  readonly requestEnd: NotifySlot<[EndedRequest]>
}

/** A request that has just arrived. */
export interface ArrivedRequest {
  readonly context: RequestContext
  /** The id that the client sent. */
  readonly inbound: string | undefined
  readonly isProbe: boolean
}

/** Levels of the logger at which an access log line of a level is written. */
const logged: Readonly<Record<'debug' | 'info', readonly LogLevel[]>> = { debug: ['trace', 'debug'], info: ['trace', 'debug', 'info'] }

/**
 * Logs a request and fires `onRequestEnd` when its response has ended. Both share one listener and one measurement, which cost more than
 * the log line and the hook call themselves.
 */
export function followToEnd(parts: RequestEndParts, ctx: Context, { context, inbound, isProbe }: ArrivedRequest): void {
  const { clock, log, logRequests, requestEnd } = parts
  const level = isProbe ? 'debug' : 'info'
  const isLogged = logRequests && logged[level].includes(log.level)
  const isReported = requestEnd.active
  if (!isLogged && !isReported) return
  const { req } = ctx
  const res = rawResponse(ctx)
  const method = req.method ?? ''
  const path = pathOf(req.url ?? '')
  const began = clock.monotonic()
  // `close` is emitted once, so removing the listener again (`once`) would be wasted work.
  res.on('close', () => {
    const ms = clock.monotonic() - began
    const { errored, statusCode } = res
    const complete = res.writableFinished || statusCode === switchingProtocols
    const status = errored ? cutStatus(errored) : statusCode
    if (isLogged) logAccess(log, level, ctx, { method, path: reportedPath(ctx, path), status, ms, inbound, context })
    if (!isReported) return
    const { requestId: id, route, traceId } = context
    // The path of a probe is that of its route.
    requestEnd.call({ id, method, route: isProbe ? path : route?.path, status, ms, complete, traceId })
  })
}
