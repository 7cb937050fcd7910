import type { Context } from 'koa'
import { requestLogOf } from '../log/request-line.js'
import type { Logger } from '../log/types.js'
import { lengthOf, rawResponse } from './context.js'
import type { RequestContext } from './request-context.js'
import { switchingProtocols } from './upgrade.js'

/** A request whose response has ended. */
export interface AccessRecord {
  readonly method: string
  /** Without the query, which may contain secrets. */
  readonly path: string
  /** As sent, or that of the error because of which the response was cut. */
  readonly status: number
  /** Time from its arrival to the end of its response. */
  readonly ms: number
  /** The request id that the client sent, if it is well formed. Logged only if it is not the request id itself. */
  readonly inbound: string | undefined
  readonly context: Pick<RequestContext, 'requestId' | 'traceId'>
}

/** Maximum length of a logged path. */
const maxPath = 500

/** Writes the access log line of a request. */
export function logAccess(
  log: Logger,
  level: 'debug' | 'info',
  ctx: Context,
  { context, inbound, method, ms, path, status }: AccessRecord,
): void {
  const { requestId, traceId } = context
  const { statusCode: sent, writableFinished } = rawResponse(ctx)
  const complete = writableFinished || sent === switchingProtocols
  const facts = {
    requestId,
    clientRequestId: inbound === requestId ? undefined : inbound,
    trace_id: traceId,
    method,
    path: path.slice(0, maxPath),
    status,
    sentStatus: sent === status ? undefined : sent,
    ms: Math.round(ms),
    bytes: bytesOf(ctx),
    complete,
  }
  const write = requestLogOf(log)
  if (write) write(level, facts)
  else log[level](facts, 'request')
}

/** Length of the response body in bytes; `undefined` for a stream. */
function bytesOf(ctx: Context): number | undefined {
  const { statusCode } = rawResponse(ctx)
  return ctx.req.method === 'HEAD' || statusCode === 204 || statusCode === 304 ? 0 : lengthOf(ctx)
}

const clientLeft = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'])

/** Returns a listener for errors that occur while a response is sent. A client that disconnects is not an error. */
export function brokenResponseLog(log: Logger): (error: NodeJS.ErrnoException) => void {
  // Koa reports a broken stream twice: from the pipeline and from the response.
  const reported = new WeakSet<Error>()
  return (error) => {
    if (reported.has(error)) return
    reported.add(error)
    if (clientLeft.has(error.code ?? '')) log.debug({ err: error }, 'the client disconnected before the response was complete')
    else log.error({ err: error }, 'a response was interrupted')
  }
}
