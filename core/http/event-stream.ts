import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import { accessHolds, accessOf } from './access.js'
import { ClientLimit } from './client-limit.js'
import { httpErrors } from './errors.js'
import { jsonText } from './json.js'

/** One event of a stream: JSON data with a name. */
export interface StreamedEvent {
  /** Event name for `EventSource`, without line breaks. Default `message`. */
  readonly event?: string
  readonly data: unknown
}

/** One connected client. */
export interface EventStream {
  /**
   * Sends an event. Returns false if the client has disconnected, or is disconnected now because it reads too slowly. Throws a TypeError if
   * the name contains a line break.
   */
  send(event: StreamedEvent): boolean
  /** Ends the response. */
  close(): void
}

/** Maximum numbers of open streams in a group; further streams are rejected. */
export interface EventStreamLimits {
  /** Per client: a user or, without a login, an IPv4 address or the /64 of an IPv6 address. Default 32. */
  readonly perClient?: number
  /** For all clients together. Default 1000. */
  readonly total?: number
}

/** Interval of keep-alive comments, which keep proxies from closing an idle connection. Access is rechecked before each one. */
const keepAliveMs = 15_000
/** Maximum duration of a stream in ms; the client then has to reconnect and authenticate again. `EventSource` does so automatically. */
const longestMs = 15 * 60_000
/** Maximum number of unread bytes; a client beyond it is disconnected. */
const unreadLimit = 1024 * 1024

/**
 * A group of server-sent event streams (WHATWG HTML 9.2). Call `closeAll` when shutdown begins; otherwise the shutdown waits for
 * clients that never disconnect.
 *
 * @example
 * const streams = new EventStreams()
 * ctx.hooks.on('onClose', () => streams.closeAll())
 * ctx.route({ method: 'GET', path: '/events', summary: 'Current time', handler: (request) => {
 *   const timer = setInterval(() => void stream.send({ data: new Date().toISOString() }), 1000)
 *   const stream = streams.open(request, () => clearInterval(timer))
 * } })
 */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  readonly #limit: ClientLimit
  #closed = false

  constructor({ perClient = 32, total = 1000 }: EventStreamLimits = {}) {
    this.#limit = new ClientLimit({
      perClient,
      total,
      perClientError: httpErrors.TOO_MANY_STREAMS,
      totalError: httpErrors.STREAMS_EXHAUSTED,
    })
  }

  get size(): number {
    return this.#open.size
  }

  /**
   * Starts the event stream that is the response to a request. It ends when the request's access ends: at most 15 s after a token is
   * revoked or a device removed, at a token's `exp`, and in any case after 15 minutes. `onEnd` is called once, whichever side ends it. The
   * handler must return nothing afterwards.
   *
   * Throws a ZinError: 429 `TOO_MANY_STREAMS` if the client has too many open streams, 503 `STREAMS_EXHAUSTED` if all clients together do.
   */
  open(ctx: Context, onEnd: () => void): EventStream {
    const access = accessOf(ctx)
    const release = this.#limit.admit(ctx)
    const body = new PassThrough()
    const recheck = async (): Promise<void> => {
      if (await accessHolds(access)) write(': keep-alive\n\n')
      else stream.close()
    }
    const keepAlive = setInterval(() => void recheck(), keepAliveMs)
    keepAlive.unref()
    const end = setTimeout(() => stream.close(), Math.min(longestMs, ...access.map(({ lastsMs }) => lastsMs)))
    end.unref()
    const write = (text: string): boolean => {
      if (body.writableEnded || body.destroyed) return false
      const unread = body.writableLength + body.readableLength
      if (unread > 0 && unread + text.length > unreadLimit) {
        body.destroy()
        ctx.res.destroy()
        return false
      }
      body.write(text)
      return true
    }
    const stream: EventStream = {
      send: (event) => write(textOf(event)),
      close: () => void body.end(),
    }
    body.once('close', () => {
      clearInterval(keepAlive)
      clearTimeout(end)
      this.#open.delete(stream)
      release()
      onEnd()
    })
    this.#open.add(stream)
    ctx.status = 200
    ctx.set('Content-Type', 'text/event-stream')
    ctx.set('Cache-Control', 'no-store')
    ctx.set('X-Accel-Buffering', 'no')
    ctx.body = body
    // Send the headers at once, so that the client sees the open stream.
    write(': listening\n\n')
    if (this.#closed) stream.close()
    return stream
  }

  /** Ends every stream, including those opened later. */
  closeAll(): void {
    this.#closed = true
    for (const stream of this.#open) stream.close()
  }
}

function textOf({ event, data }: StreamedEvent): string {
  // A line break would end the field, and whatever follows it would be read as other fields or events.
  if (event !== undefined && /[\r\n]/.test(event)) throw new TypeError('the field "event" of a streamed event contains a line break')
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${jsonText(data ?? null)}\n\n`
}
