import type { Context } from 'koa'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import type { RequestContext } from './request-context.js'
import { pathOf } from './target.js'

/** The ids of a request. */
export interface RequestIds {
  /** Ours, which the response carries. */
  readonly requestId: string
  /** The one that the client sent, where it is not ours. */
  readonly clientRequestId?: string
}

/** Longest path that a line repeats. */
const maxPath = 500

/** Logs a request once its response has ended, without its query, which may hold secrets. */
export function logAccess(
  log: Logger,
  level: 'debug' | 'info',
  clock: Clock,
  ctx: Context,
  { requestId, clientRequestId }: RequestIds,
  context: Pick<RequestContext, 'traceId'>,
): void {
  const began = clock.monotonic()
  const { method, res } = ctx
  const path = pathOf(ctx.originalUrl).slice(0, maxPath)
  res.once('close', () => {
    const ms = Math.round(clock.monotonic() - began)
    const { statusCode: status, writableFinished: complete } = res
    // Written out, because spreading `ids` costs more than the rest of the line; what is undefined is not printed.
    log[level](
      { requestId, clientRequestId, trace_id: context.traceId, method, path, status, ms, bytes: bytesOf(ctx), complete },
      'request',
    )
  })
}

/** Length of the body that was sent; `undefined` for a stream. */
function bytesOf({ method, res }: Context): number | undefined {
  if (method === 'HEAD' || res.statusCode === 204 || res.statusCode === 304) return 0
  const length = res.getHeader('content-length')
  return length === undefined ? undefined : Number(length)
}

const clientLeft = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'])

/** A listener for errors while a response is being sent. A client that disconnects is not an error. */
export function brokenResponseLog(log: Logger): (error: NodeJS.ErrnoException) => void {
  // Koa reports a broken stream twice: from the pipeline and from the response.
  const told = new WeakSet<Error>()
  return (error) => {
    if (told.has(error)) return
    told.add(error)
    if (clientLeft.has(error.code ?? '')) log.debug({ err: error }, 'the client disconnected before the response was complete')
    else log.error({ err: error }, 'a response was interrupted')
  }
}
