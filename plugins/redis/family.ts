import type { Socket } from 'node:net'
import type { RedisClient } from './client.js'

/** How ioredis says that a connection with commands in flight got no data for the option `socketTimeout`. */
const silence = /^Socket timeout\b/

/** Looks at a connection until it counts as silent. */
const looks = 9

/** The part of ioredis that serves the option `socketTimeout`. A cluster has none: its connections do. */
interface Watched {
  setSocketTimeout?: () => void
  /** Cleared by ioredis when the connection closes. */
  socketTimeoutTimer: NodeJS.Timeout | undefined
  readonly stream: Socket
  readonly commandQueue: { readonly length: number }
  readonly options: { readonly socketTimeout?: number }
}

/**
 * Closes a connection that got no data for `socketTimeout` with commands in flight, and up to a ninth later. ioredis sets a timer for each
 * reply, which is 2 % of the time of a busy worker. Returns a function that ends the timer of the current connection.
 */
function watchSilence(client: RedisClient): () => void {
  const watched = client as unknown as Watched
  const { socketTimeout: limitMs } = watched.options
  const end = (): void => {
    clearInterval(watched.socketTimeoutTimer)
    watched.socketTimeoutTimer = undefined
  }
  if (watched.setSocketTimeout === undefined || limitMs === undefined) return end
  watched.setSocketTimeout = () => {
    const { stream } = watched
    let [read, silent] = [stream.bytesRead, 0]
    watched.socketTimeoutTimer = setInterval(() => {
      if (watched.commandQueue.length === 0) return end()
      silent = stream.bytesRead === read ? silent + 1 : 0
      read = stream.bytesRead
      if (silent < looks) return
      end()
      stream.destroy(new Error(`Socket timeout. Expecting data, but didn't receive any in ${limitMs}ms.`))
    }, limitMs / looks).unref()
  }
  return end
}

/** A client and its duplicates (BullMQ creates one per consumer), which are closed together. */
export class RedisFamily {
  readonly #members = new Set<RedisClient>()
  readonly #sharesSilence: boolean
  readonly #handshakeMs: number
  #closed = false

  /**
   * @param options `sharesSilence`: if one connection has died without a word, the others are replaced, too. A blocked one may have answered
   *   until its next request, and would notice only 20 s after that. `handshakeMs`: time from an accepted connection until it must be ready,
   *   default 5 s: a server that accepts and never answers is tried again.
   */
  constructor({ sharesSilence = false, handshakeMs = 5_000 }: { readonly sharesSilence?: boolean; readonly handshakeMs?: number } = {}) {
    this.#sharesSilence = sharesSilence
    this.#handshakeMs = handshakeMs
  }

  /** Patches and returns the client; its duplicates also join the family. */
  adopt<T extends RedisClient>(client: T): T {
    const connect = client.connect.bind(client)
    const disconnect = client.disconnect.bind(client)
    const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => T
    const endWatch = watchSilence(client)
    client.connect = () => {
      if (this.#closed) return Promise.reject(new Error('Connection is closed.'))
      this.#members.add(client)
      return connect()
    }
    client.disconnect = (reconnect = false) => {
      // ioredis would wait a second for the end of a connection that has ended.
      if (client.status === 'end') return
      // Between two attempts, ioredis only cancels the next one: it emits no `end`, and commands wait forever. With the status `wait` it ends.
      if (!reconnect && client.status === 'reconnecting') client.status = 'wait'
      endWatch()
      disconnect(reconnect)
    }
    client.duplicate = ((...args: unknown[]) => this.adopt(duplicate(...args))) as T['duplicate']
    if (this.#sharesSilence) client.on('error', (error: Error) => silence.test(error.message) && this.#replaceOthers(client))
    client.on('connect', () => this.#limitHandshake(client))
    // It may have reconnected by the time of this event.
    client.on('end', () => client.status === 'end' && this.#members.delete(client))
    this.#members.add(client)
    return client
  }

  #limitHandshake(client: RedisClient): void {
    const timer = setTimeout(() => client.status === 'connect' && client.disconnect(true), this.#handshakeMs).unref()
    const end = (): void => {
      clearTimeout(timer)
      client.off('ready', end).off('close', end)
    }
    client.on('ready', end).on('close', end)
  }

  #replaceOthers(silent: RedisClient): void {
    for (const client of this.#members) if (client !== silent && client.status === 'ready') client.disconnect(true)
  }

  /** Closes permanently: BullMQ reconnects a client when a pause ends after its worker was closed. */
  close(): void {
    this.#closed = true
    for (const client of this.#members) client.disconnect()
  }
}
