import type { IncomingMessage, ServerResponse } from 'node:http'
import { announcesBody } from './headers.js'
import { awaitsContinue, isFragmented } from './incoming.js'

/** An unread body up to this size, in bytes, is read and discarded, and the connection stays open. */
const dropQuietly = 64 * 1024
/** How long a client may keep sending after its response was written, in ms. */
const lingerMs = 1000

/** Marks a response that waits already: an error response may follow a response of which nothing was sent. */
const lingers = Symbol('zin.lingers')

/** Whether the connection of a request is closed if its body is not read. Depends on the request headers alone. */
function isClosedUnread(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined || Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) > dropQuietly
}

/**
 * Closes the connection of a request whose body was not read, in a way that the client still gets the response: it is written
 * immediately and ended when the client has stopped sending. Closing while bytes arrive would reset the connection and lose the response. A
 * body in tiny pieces is not read further: the client has `lingerMs` to read the response.
 *
 * A 401 must not reveal whether the body was read, and thus how far the checks got: its `Connection` header depends on the request
 * alone, and Node writes it, always in the same position.
 */
export function closeAfterUnreadBody(req: IncomingMessage, res: ServerResponse): void {
  if ((req.complete && res.statusCode !== 401) || !announcesBody(req) || res.headersSent) return
  if (req.complete) {
    if (isClosedUnread(req)) res.shouldKeepAlive = false
    return
  }
  if (awaitsContinue(req)) {
    res.shouldKeepAlive = false
    return
  }
  if (!isClosedUnread(req)) return
  res.shouldKeepAlive = false
  const lingering = res as ServerResponse & { [lingers]?: true }
  if (lingering[lingers]) return
  lingering[lingers] = true
  const end = res.end.bind(res) as (done?: unknown) => ServerResponse
  res.end = ((...given: readonly unknown[]) => {
    const [chunk, encoding] = given
    const done = given.find((one) => typeof one === 'function')
    if (typeof chunk === 'string') res.write(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
    else if (chunk instanceof Uint8Array) res.write(chunk)
    else res.flushHeaders()
    const timer = setTimeout(() => finish(), lingerMs).unref()
    const finish = (): void => {
      clearTimeout(timer)
      req.off('data', look).off('end', finish).off('close', finish)
      end(done)
    }
    const look = (): void => void (isFragmented(req) ? req.pause() : req.resume())
    req.once('end', finish).once('close', finish).on('data', look)
    look()
    return res
  }) as typeof res.end
}
