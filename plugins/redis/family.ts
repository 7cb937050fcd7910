import type { RedisClient } from './client.js'

/** A client and its duplicates, of which BullMQ makes one for each consumer: they end when they are told to, and together. */
export class RedisFamily {
  readonly #members = new Set<RedisClient>()
  #closed = false

  /** The same client, changed; what it duplicates belongs to the family, too. */
  adopt<T extends RedisClient>(client: T): T {
    const connect = client.connect.bind(client)
    const disconnect = client.disconnect.bind(client)
    const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => T
    client.connect = () => {
      if (this.#closed) return Promise.reject(new Error('Connection is closed.'))
      this.#members.add(client)
      return connect()
    }
    client.disconnect = (reconnect = false) => {
      // Between two attempts ioredis only forgets the next one: no `end` comes, and commands wait for ever. One that waits to begin ends.
      if (!reconnect && client.status === 'reconnecting') client.status = 'wait'
      disconnect(reconnect)
    }
    client.duplicate = ((...args: unknown[]) => this.adopt(duplicate(...args))) as T['duplicate']
    // It may have begun anew by the time this is told.
    client.on('end', () => client.status === 'end' && this.#members.delete(client))
    this.#members.add(client)
    return client
  }

  /** For good: BullMQ connects a client again when a pause ends after the close of its worker. */
  close(): void {
    this.#closed = true
    for (const client of this.#members) client.disconnect()
  }
}
