import { IncomingMessage } from 'node:http'

/** What a piece costs on the wire beside its bytes: the size line and the line break of the shortest chunk. */
const framingBytes = 5
/** What a client may spend on framing beyond what it sends, in bytes. */
const framingLimit = 16 * 1024
/** What is taken at most until the other connections had their turn; so many pieces are joined before that. */
const manyPieces = 512
const manyBytes = 64 * 1024

/**
 * A request whose chunked body reaches every reader in one piece per turn of the event loop. Node hands out one Buffer per chunk, and each
 * takes some hundred bytes: whoever collects them holds a client that sends chunks of one byte at hundreds of times its size.
 */
export class Incoming extends IncomingMessage {
  #pieces: Buffer[] | undefined
  #heldPieces = 0
  #heldBytes = 0
  #arrived = 0
  #bytes = 0

  /** Whether the body comes in so small pieces that it costs more than it holds. */
  get fragmented(): boolean {
    return this.#arrived * framingBytes > framingLimit + this.#bytes
  }

  /** Called by Node's parser for each piece, and with `null` at the end. Reading goes on at once unless it returns false. */
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

/** Whether the body of a request comes in so small pieces that reading it costs more than it holds. */
export function isFragmented(req: IncomingMessage): boolean {
  return req instanceof Incoming && req.fragmented
}
