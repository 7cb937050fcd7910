import type { Redis } from 'ioredis'
import { type Logger, messageOf, withDeadline } from 'zin'
import type { RedisClient } from 'zin/plugins/redis'

/** Delays between connection attempts, in ms: doubled from the first to the last. */
const firstRetryMs = 50
const lastRetryMs = 2_000

/** Interval of pings on the connection, in ms: a half-open connection delivers neither messages nor an error. */
const checkMs = 10_000

export interface SubscriberOptions {
  /** The client whose server it subscribes to. */
  readonly client: () => RedisClient
  readonly channel: () => string
  readonly onMessage: (text: string) => void
  /** Called when the subscription is restored after a lost connection. */
  readonly onReturn: () => void
  readonly log: Logger
}

/** A dedicated connection that receives the messages of one channel and is recreated when it is lost. */
export class Subscriber {
  readonly #options: SubscriberOptions
  #connection: Redis | undefined
  #timer: NodeJS.Timeout | undefined
  #retryMs = firstRetryMs
  #warned = false
  #closed = false

  constructor(options: SubscriberOptions) {
    this.#options = options
  }

  /** Resolves when subscribed. Rejects when that takes too long, and then stops trying. */
  async open(limitMs: number): Promise<void> {
    this.#closed = false
    try {
      await withDeadline(this.#connect(), limitMs, `no subscription within ${limitMs} ms`)
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#connection?.disconnect()
    this.#connection = undefined
  }

  async #connect(): Promise<void> {
    const { client, channel, onMessage } = this.#options
    const connection = connectionFor(client())
    this.#connection = connection
    // The failing call and the event `end` report the cause.
    connection.on('error', () => undefined)
    connection.on('message', (_channel: string, text: string) => onMessage(text))
    try {
      await connection.connect()
      await connection.subscribe(channel())
      if (connection.status !== 'ready') throw new Error('Connection is closed.')
    } catch (error) {
      connection.disconnect()
      throw error
    }
    connection.once('end', () => this.#lost(connection, 'the connection ended'))
    this.#retryMs = firstRetryMs
    this.#later(checkMs, () => void this.#check(connection))
  }

  async #check(connection: Redis): Promise<void> {
    try {
      await connection.ping()
      if (connection === this.#connection) this.#later(checkMs, () => void this.#check(connection))
    } catch (error) {
      this.#lost(connection, messageOf(error))
      connection.disconnect()
    }
  }

  #lost(connection: Redis, reason: string): void {
    if (connection === this.#connection) this.#retry(reason)
  }

  #retry(reason: string): void {
    if (this.#closed) return
    this.#connection = undefined
    if (!this.#warned) this.#options.log.warn({ reason }, 'messages of other nodes are not received; reconnecting')
    this.#warned = true
    this.#later(this.#retryMs, () => void this.#reconnect())
    this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs)
  }

  async #reconnect(): Promise<void> {
    try {
      await this.#connect()
    } catch (error) {
      this.#retry(messageOf(error))
      return
    }
    this.#options.log.info('messages of other nodes are received again')
    this.#warned = false
    this.#options.onReturn()
  }

  #later(ms: number, work: () => void): void {
    clearTimeout(this.#timer)
    if (!this.#closed) this.#timer = setTimeout(work, ms)
  }
}

/** Connects to the same server, or to any node of a Redis Cluster, since every node has all messages. It does not reconnect by itself. */
function connectionFor(client: RedisClient): Redis {
  const options = { lazyConnect: true, retryStrategy: () => null, autoResubscribe: false, keyPrefix: '' }
  if (!('nodes' in client)) return client.duplicate({ ...options, connectionName: `${client.options.connectionName ?? 'zin'}:messages` })
  const nodes = client.nodes('all')
  const node = nodes[Math.floor(Math.random() * nodes.length)]
  if (node === undefined) throw new Error("Cluster isn't ready: no node of it is known.")
  return node.duplicate({ ...options, connectionName: `${node.options.connectionName ?? 'zin'}:messages` })
}
