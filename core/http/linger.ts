import type { IncomingMessage, ServerResponse } from 'node:http'
import { announcesBody } from './headers.js'
import { isFragmented } from './incoming.js'
import { awaitsContinue } from './read-bytes.js'

/** An unread body up to this size is read and dropped, and the connection stays open. */
const dropQuietly = 64 * 1024
/** How long a client that keeps on sending may do so after its response went out, in ms. */
const lingerMs = 1000

/** Whether the connection of a request is closed when nobody reads its body, by what the request says of it. */
function isClosedUnread(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined || Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) > dropQuietly
}

/**
 * Closes the connection of a request whose body nobody read, so that the client still gets the response: it is written at
 * once and ended when the client stopped sending. Closing while bytes arrive would reset the connection, response included. What comes in
 * tiny pieces is not read on: the client has the time of the linger to take the response.
 *
 * A 401 says nothing about whether the body was read, and so how far the checks came: its `Connection` depends on the request
 * alone, and Node writes it, always in the same place.
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
  const end = res.end.bind(res) as (done?: unknown) => ServerResponse
  res.end = ((chunk?: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) res.write(chunk)
    else res.flushHeaders()
    const timer = setTimeout(() => finish(), lingerMs).unref()
    const finish = (): void => {
      clearTimeout(timer)
      req.off('data', look).off('end', finish).off('close', finish)
      end()
    }
    const look = (): void => void (isFragmented(req) ? req.pause() : req.resume())
    req.once('end', finish).once('close', finish).on('data', look)
    look()
    return res
  }) as typeof res.end
}
