import type { Socket } from 'node:net'

/** How long a client may leave its response unread, in ms. */
const stalledMs = 60_000

/** How far a connection came with what was sent on it. */
interface Progress {
  /** Bytes of the writes that are done. */
  readonly written: number
  /** Bytes that are left of the write at hand. */
  readonly left: number
  readonly since: number
}

/** Closes the connections of clients that do not read their response, which would be kept in memory forever. */
export class StalledClients {
  readonly #progress = new WeakMap<Socket, Progress>()

  /** Looks at every connection; called now and then. `now` is monotonic, in ms. */
  check(sockets: Iterable<Socket>, now: number): void {
    for (const socket of sockets) {
      if (socket.writableLength === 0) {
        this.#progress.delete(socket)
        continue
      }
      const written = socket.bytesWritten - socket.writableLength
      const left = leftOf(socket)
      const earlier = this.#progress.get(socket)
      if (earlier?.written !== written || earlier.left !== left) this.#progress.set(socket, { written, left, since: now })
      else if (now - earlier.since >= stalledMs) socket.destroy()
    }
  }
}

/** A large response is one write: only the handle knows how much of it the system took. */
function leftOf(socket: Socket): number {
  return (socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
}
