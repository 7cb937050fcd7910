import type { IncomingMessage } from 'node:http'
import type { ZinError } from '../errors.js'
import { httpErrors } from './errors.js'
import { announcesBody } from './headers.js'
import { isFragmented, isWhole } from './incoming.js'

const reading = Symbol('zin.reading')

/** What waits for the bytes of a body. */
export interface BodyWaiter {
  read(bytes: Buffer): void
  fail(error: Error): void
}

/**
 * The single read of a body into one buffer, which grows with the received bytes and never beyond the limit. It fails with a ZinError 413
 * `PAYLOAD_TOO_LARGE`, 400 `BODY_FRAGMENTED`, 400 `BODY_ABORTED`, 500 `BODY_CONSUMED`.
 */
export class BodyReading {
  /** Set when the read is complete, so that later callers need not wait. */
  bytes: Buffer | undefined = undefined
  readonly #limit: number
  #error: Error | undefined = undefined
  #waiters: readonly BodyWaiter[] = none
  #held: Buffer = nothing
  #size = 0

  /** @param limit maximum size in bytes. */
  constructor(req: IncomingMessage, limit: number) {
    this.#limit = limit
    const problem = announcesBody(req) ? unreadable(req, limit) : undefined
    if (problem !== undefined) this.#error = problem
    else if (!announcesBody(req)) this.bytes = nothing
    else {
      ;(req as Read)[reading] = this
      // An aborted request closes; Node emits its error only to those who listen for it.
      req.on('data', onData).on('end', onEnd).on('close', onClose)
      // Something else may have paused it.
      if (req.isPaused()) req.resume()
    }
  }

  /** Calls one of its methods when the body is read: at once if it is. */
  whenRead(waiter: BodyWaiter): void {
    if (this.bytes !== undefined) waiter.read(this.bytes)
    else if (this.#error !== undefined) waiter.fail(this.#error)
    else this.#waiters = this.#waiters === none ? [waiter] : [...this.#waiters, waiter]
  }

  /** Adds a piece. Returns why no more is read, if so. */
  add(req: IncomingMessage, piece: Buffer | string): ZinError | undefined {
    if (typeof piece === 'string') return bodyIsText()
    const size = this.#size + piece.length
    if (size > this.#limit) return httpErrors.PAYLOAD_TOO_LARGE(this.#limit)
    if (isFragmented(req)) return httpErrors.BODY_FRAGMENTED()
    // Nearly every body arrives in one piece, which is kept without a copy.
    if (this.#size === 0) this.#held = piece
    else {
      if (size > this.#held.length) this.#grow(size)
      piece.copy(this.#held, this.#size)
    }
    this.#size = size
    return undefined
  }

  end(req: IncomingMessage): void {
    if (!isWhole(req, this.#size)) {
      this.fail(req, readElsewhere())
      return
    }
    this.bytes = this.#held.length === this.#size ? this.#held : this.#held.subarray(0, this.#size)
    for (const waiter of this.#taken()) waiter.read(this.bytes)
  }

  fail(req: IncomingMessage, error: Error): void {
    req.off('data', onData).off('end', onEnd).off('close', onClose)
    this.#error = error
    for (const waiter of this.#taken()) waiter.fail(error)
  }

  #taken(): readonly BodyWaiter[] {
    const waiters = this.#waiters
    this.#waiters = none
    return waiters
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(size, Math.min(this.#limit, 2 * this.#held.length)))
    this.#held.copy(grown, 0, 0, this.#size)
    this.#held = grown
  }
}

const none: readonly BodyWaiter[] = []
const nothing = Buffer.alloc(0)

/** A request whose body is read. Its listeners are shared by all requests. */
type Read = IncomingMessage & { [reading]: BodyReading }

function onData(this: IncomingMessage, piece: Buffer | string): void {
  const body = (this as Read)[reading]
  const refused = body.add(this, piece)
  if (refused === undefined) return
  this.pause()
  body.fail(this, refused)
}

function onEnd(this: IncomingMessage): void {
  ;(this as Read)[reading].end(this)
}

/** A request also closes after it was read and its response was sent. */
function onClose(this: IncomingMessage): void {
  const body = (this as Read)[reading]
  if (body.bytes === undefined) body.fail(this, httpErrors.BODY_ABORTED())
}

/** Why the body of a request cannot be read; undefined if it can. */
export function unreadable(req: IncomingMessage, limit: number): ZinError | undefined {
  if (Number(req.headers['content-length']) > limit) return httpErrors.PAYLOAD_TOO_LARGE(limit)
  if (req.readableEnded) return readElsewhere()
  if (req.readableEncoding !== null) return bodyIsText()
  return req.destroyed ? httpErrors.BODY_ABORTED() : undefined
}

/** Something else has read the body, or a part of it. */
export const readElsewhere = (): ZinError => httpErrors.BODY_CONSUMED('was read before captureBody')

/** Something else has set an encoding: the body arrives as text, from which its bytes cannot be told. */
export const bodyIsText = (): ZinError => httpErrors.BODY_CONSUMED('was made text by setEncoding')
