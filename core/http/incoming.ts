import { IncomingMessage, type ServerResponse } from 'node:http'

/** Overhead of a chunk on the wire, in bytes: the size line and the line break of the shortest chunk. */
const framingBytes = 5
/** Framing overhead that a client may send in excess of the body size, in bytes. */
const framingLimit = 16 * 1024
/** Maximum taken from a connection per turn of the event loop. Pieces beyond `manyPieces` are joined. */
const manyPieces = 512
const manyBytes = 64 * 1024

/**
 * A request that delivers a chunked body as one piece per turn of the event loop. Node emits one Buffer per chunk, and each takes some
 * hundred bytes: collecting the one-byte chunks of a client would take hundreds of times the size of its body.
 */
export class Incoming extends IncomingMessage {
  #pieces: Buffer[] | undefined
  #heldPieces = 0
  #heldBytes = 0
  #arrived = 0
  #bytes = 0
  #awaited: ServerResponse | undefined

  /** Whether the body arrives in pieces so small that their framing is larger than the body. */
  get fragmented(): boolean {
    return this.#arrived * framingBytes > framingLimit + this.#bytes
  }

  /** Bytes of the body that have arrived. */
  get received(): number {
    return this.#bytes
  }

  /** Whether the client waits for `100 Continue` before sending its body. */
  get awaitsContinue(): boolean {
    return this.#awaited !== undefined
  }

  /** Sends `100 Continue` when the body is first read, whoever reads it. */
  continueWhenRead(res: ServerResponse): void {
    this.#awaited = res
  }

  override _read(size: number): void {
    const res = this.#awaited
    if (res !== undefined) {
      this.#awaited = undefined
      // After the head of the response it would become part of its body.
      if (!res.headersSent) res.writeContinue()
    }
    super._read(size)
  }

  /** Called by Node's parser for each piece, and with `null` at the end. Reading pauses if it returns false. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      this.#flush()
      this.#neverWaited()
      return super.push(null)
    }
    this.#arrived++
    this.#bytes += piece.length
    if (this.headers['transfer-encoding'] === undefined) return super.push(piece)
    return this.#hold(piece)
  }

  /** The whole body is here: Node need not close the connection because it was not asked for. */
  #neverWaited(): void {
    if (this.#awaited === undefined) return
    ;(this.#awaited as ServerResponse & { _sent100?: boolean })._sent100 = true
    this.#awaited = undefined
  }

  #hold(piece: Buffer): boolean {
    this.#heldPieces++
    this.#heldBytes += piece.length
    if (!this.#pieces) {
      this.#pieces = [piece]
      setImmediate(() => this.#flush())
    } else if (this.#pieces.push(piece) > manyPieces) this.#pieces = [Buffer.concat(this.#pieces)]
    if (this.#heldPieces > manyPieces || this.#heldBytes >= manyBytes) return false
    return this.readableFlowing === true || this.readableLength < this.readableHighWaterMark
  }

  #flush(): void {
    const pieces = this.#pieces
    if (!pieces) return
    this.#pieces = undefined
    this.#heldPieces = 0
    this.#heldBytes = 0
    super.push(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
  }
}

/** Whether the body of a request arrives in pieces so small that their framing is larger than the body. */
export function isFragmented(req: IncomingMessage): boolean {
  return req instanceof Incoming && req.fragmented
}

/** Whether the client waits for `100 Continue` before sending its body. */
export function awaitsContinue(req: IncomingMessage): boolean {
  return req instanceof Incoming && req.awaitsContinue
}

/** Whether so many bytes are all of a body that has arrived: something else may have read some. */
export function isWhole(req: IncomingMessage, bytes: number): boolean {
  return !(req instanceof Incoming) || req.received === bytes
}
