import type { Socket } from 'node:net'

/** How long a client may not read its response, in ms. */
const stalledMs = 60_000

/** Write progress of a connection. */
interface Progress {
  /** Bytes of completed writes. */
  readonly written: number
  /** Remaining bytes of the current write. */
  readonly left: number
  readonly since: number
}

/** Closes the connections of clients that do not read their response, which would otherwise stay in memory forever. */
export class StalledClients {
  readonly #progress = new WeakMap<Socket, Progress>()

  /** Checks every connection; called periodically. `now` is monotonic, in ms. */
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

/** A large response is a single write; only the handle shows how much of it the system has accepted. */
function leftOf(socket: Socket): number {
  return (socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
}
