import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ZinError } from '../errors.js'
import { httpErrors } from './errors.js'
import { isFragmented } from './incoming.js'

/** Copies the pieces of a body into one buffer, which grows with the received bytes and never beyond the limit. */
class BodyBuffer {
  readonly #limit: number
  #bytes: Buffer = Buffer.alloc(0)
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(piece: Buffer): void {
    const size = this.#size + piece.length
    // Nearly every body arrives in one piece, which is kept without a copy.
    if (this.#size === 0) this.#bytes = piece
    else {
      if (size > this.#bytes.length) this.#grow(size)
      piece.copy(this.#bytes, this.#size)
    }
    this.#size = size
  }

  end(): Buffer {
    return this.#bytes.length === this.#size ? this.#bytes : this.#bytes.subarray(0, this.#size)
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(size, Math.min(this.#limit, 2 * this.#bytes.length)))
    this.#bytes.copy(grown, 0, 0, this.#size)
    this.#bytes = grown
  }
}

/**
 * Reads the body of a request into one buffer, and calls `done` with it or `fail`, once, as soon as that is known: with a ZinError 413
 * `PAYLOAD_TOO_LARGE`, 400 `BODY_FRAGMENTED`, 400 `BODY_ABORTED`, 500 `BODY_CONSUMED`.
 */
export function readBytes(
  req: IncomingMessage,
  res: ServerResponse,
  limit: number,
  done: (bytes: Buffer) => void,
  fail: (error: ZinError) => void,
): void {
  const problem = unreadable(req, limit)
  if (problem !== undefined) {
    fail(problem)
    return
  }
  allowReading(req, res)
  const body = new BodyBuffer(limit)
  let size = 0
  const onData = (piece: Buffer): void => {
    size += piece.length
    if (size > limit) refuse(httpErrors.PAYLOAD_TOO_LARGE(limit))
    else if (isFragmented(req)) refuse(httpErrors.BODY_FRAGMENTED())
    else body.add(piece)
  }
  let ended = false
  const refuse = (error: ZinError): void => {
    req.pause()
    stop(error)
  }
  const onEnd = (): void => {
    ended = true
    done(body.end())
  }
  // A request also closes after it was read and its response was sent.
  const onAbort = (): void => {
    if (!ended) stop(httpErrors.BODY_ABORTED())
  }
  const stop = (error: ZinError): void => {
    req.off('data', onData).off('end', onEnd).off('error', onAbort).off('close', onAbort)
    fail(error)
  }
  req.on('data', onData).on('end', onEnd).on('error', onAbort).on('close', onAbort)
}

/** Why the body of a request cannot be read; undefined if it can. */
export function unreadable(req: IncomingMessage, limit: number): ZinError | undefined {
  if (Number(req.headers['content-length']) > limit) return httpErrors.PAYLOAD_TOO_LARGE(limit)
  if (req.readableEnded) return httpErrors.BODY_CONSUMED()
  return req.destroyed ? httpErrors.BODY_ABORTED() : undefined
}

const continueSent = Symbol('zin.continueSent')

/** Whether the client waits for `100 Continue` before sending its body. */
export function awaitsContinue(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined && !(continueSent in req)
}

/** Asks a client that waits for it to send its body. */
export function allowReading(req: IncomingMessage, res: ServerResponse): void {
  if (!awaitsContinue(req)) return
  Object.defineProperty(req, continueSent, { value: true })
  res.writeContinue()
}
