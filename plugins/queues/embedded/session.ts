import { AsyncResource } from 'node:async_hooks'
import type { PGlite } from '@electric-sql/pglite'
import { serialize } from 'pg-protocol'
import { type ProtocolMessage, type QueryResponse, readResponse } from './response.js'
import { encodeValue } from './values.js'

/** A listener for notifications of the session. */
export interface Listener {
  readonly channels: ReadonlySet<string>
  notify(channel: string, payload: string): void
}

export type Release = () => void

/** BullMQ recognizes this message as the end of a pool rather than a failure. */
const closedMessage = 'Cannot use a pool after calling end on the pool'
/** Maximum number of prepared statements; BullMQ uses about a hundred. */
const maxPrepared = 500

/** The single session of PGlite: one statement or transaction at a time, in order of arrival. */
export class PgliteSession {
  readonly listeners = new Set<Listener>()
  readonly #db: PGlite
  /** In the context of whoever opened the store: PostgreSQL sets timers that outlive the statement, and these belong to the store. */
  readonly #execute: (request: Uint8Array) => Promise<readonly ProtocolMessage[]>
  readonly #prepared = new Map<string, string>()
  #tail: Promise<void> = Promise.resolve()
  #notifications: (readonly [channel: string, payload: string])[] = []
  #closed = false

  constructor(db: PGlite) {
    this.#db = db
    this.#execute = AsyncResource.bind(async (request: Uint8Array) => {
      const messages = await db.execProtocolStream(request, { syncToFs: false, throwOnError: false })
      return messages as unknown as readonly ProtocolMessage[]
    })
    db.onNotification((channel, payload) => this.#queueNotification(channel, payload))
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Waits for the session. The caller must release it. */
  async acquire(): Promise<Release> {
    let done: () => void = () => undefined
    const mine = new Promise<void>((resolve) => {
      done = resolve
    })
    const before = this.#tail
    this.#tail = before.then(() => mine)
    await before
    // PGlite runs in microtasks: without a turn of the event loop, a busy queue would starve timers and sockets.
    return () => void setImmediate(done)
  }

  /** Runs one statement, or several without values. The caller holds the session. */
  async run(text: string, values: readonly unknown[] = []): Promise<QueryResponse> {
    if (this.#closed) throw new Error(closedMessage)
    const known = this.#prepared.get(text)
    const name = known ?? (this.#prepared.size < maxPrepared ? `s${this.#prepared.size + 1}` : '')
    const request = values.length === 0 ? serialize.query(text) : bound(name, known === undefined ? text : undefined, values)
    const response = readResponse(await this.#execute(request))
    if (values.length > 0 && response.parsed && name !== '') this.#prepared.set(text, name)
    return response
  }

  /** Waits for the running statement, then ends the session; later statements are rejected. */
  async close(): Promise<void> {
    const release = await this.acquire()
    this.#closed = true
    this.listeners.clear()
    try {
      await this.#db.close()
    } finally {
      release()
    }
  }

  /**
   * Delivers in a later turn of the event loop, as a socket would. PGlite calls back synchronously, when BullMQ has received "no job" but has
   * not attached its listener yet: the wake-up would be lost, and the job would wait for the next poll.
   */
  #queueNotification(channel: string, payload: string): void {
    this.#notifications.push([channel, payload])
    if (this.#notifications.length > 1) return
    setImmediate(() => {
      const distinct = new Map(this.#notifications.map((one) => [one.join('\0'), one]))
      this.#notifications = []
      for (const [name, text] of distinct.values()) {
        for (const listener of [...this.listeners]) if (listener.channels.has(name)) listener.notify(name, text)
      }
    })
  }
}

/** Parse (unless the statement is already prepared), bind, describe, execute and sync, as one message. */
function bound(name: string, text: string | undefined, values: readonly unknown[]): Buffer {
  return Buffer.concat([
    ...(text === undefined ? [] : [serialize.parse({ name, text, types: [] })]),
    serialize.bind({ statement: name, values: values.map(encodeValue) }),
    serialize.describe({ type: 'P', name: '' }),
    serialize.execute({}),
    serialize.sync(),
  ])
}
