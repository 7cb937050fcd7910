import { IncomingMessage } from 'node:http'

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

  /** Whether the body arrives in pieces so small that their framing is larger than the body. */
  get fragmented(): boolean {
    return this.#arrived * framingBytes > framingLimit + this.#bytes
  }

  /** Called by Node's parser for each piece, and with `null` at the end. Reading pauses if it returns false. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      this.#flush()
      return super.push(null)
    }
    this.#arrived++
    this.#bytes += piece.length
    if (this.headers['transfer-encoding'] === undefined) return super.push(piece)
    return this.#hold(piece)
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
