import type { IncomingMessage } from 'node:http'
import { httpErrors } from './errors.js'
import { isFragmented, isWhole } from './incoming.js'
import { bodyIsText, readElsewhere, unreadable } from './read-bytes.js'

/** The body of a request as it arrives. */
export interface BodyPieces {
  /**
   * Returns the next piece, undefined at the end and after `stop`. Rejects with 400 `BODY_ABORTED` if the client disconnects, and
   * `BODY_FRAGMENTED` for too many tiny chunks. Meanwhile no more is read than what has arrived.
   */
  next(): Promise<Buffer | undefined>
  /** Stops reading. What is left is not read; the connection closes after the response. */
  stop(): void
}

/** A body that has been read already. */
export function onePiece(bytes: Buffer): BodyPieces {
  let left: Buffer | undefined = bytes
  const stop = (): void => {
    left = undefined
  }
  return {
    next: () => {
      const piece = left
      stop()
      return Promise.resolve(piece)
    },
    stop,
  }
}

/** Reads the body of a request piece by piece. Throws like `captureBody` if it cannot be read. `limit` is in bytes. */
export function bodyPieces(req: IncomingMessage, limit: number): BodyPieces {
  const problem = unreadable(req, limit)
  if (problem !== undefined) throw problem
  const queue: Buffer[] = []
  let size = 0
  let ended = false
  let failure: Error | undefined
  let wake: (() => void) | undefined
  const notify = (): void => {
    const waiting = wake
    wake = undefined
    waiting?.()
  }
  const onData = (piece: Buffer | string): void => {
    if (typeof piece === 'string') {
      fail(bodyIsText())
      return
    }
    size += piece.length
    queue.push(piece)
    req.pause()
    if (size > limit) fail(httpErrors.PAYLOAD_TOO_LARGE(limit))
    else if (isFragmented(req)) fail(httpErrors.BODY_FRAGMENTED())
    notify()
  }
  const onEnd = (): void => {
    if (!isWhole(req, size)) fail(readElsewhere())
    ended = true
    notify()
  }
  const onAbort = (): void => {
    if (!ended) fail(httpErrors.BODY_ABORTED())
    notify()
  }
  const stop = (): void => {
    ended = true
    queue.length = 0
    req.pause()
    req.off('data', onData).off('end', onEnd).off('error', onAbort).off('close', onAbort)
    notify()
  }
  const fail = (error: Error): void => {
    failure ??= error
    stop()
  }
  req.on('data', onData).on('end', onEnd).on('error', onAbort).on('close', onAbort)
  return {
    async next() {
      for (;;) {
        if (failure !== undefined) throw failure
        const piece = queue.shift()
        if (piece !== undefined) return piece
        if (ended) return undefined
        const arrived = new Promise<void>((resolve) => {
          wake = resolve
        })
        req.resume()
        await arrived
      }
    },
    stop,
  }
}
