import type { PGlite } from '@electric-sql/pglite'
import { serialize } from 'pg-protocol'
import { type Answer, type ProtocolMessage, readAnswer } from './answer.js'
import { encodeValue } from './values.js'

/** Who hears a notification of the session. */
export interface Listener {
  readonly channels: ReadonlySet<string>
  notify(channel: string, payload: string): void
}

export type Release = () => void

/** BullMQ knows this sentence, and takes it for the end of a pool rather than for a failure. */
const closedMessage = 'Cannot use a pool after calling end on the pool'
/** Distinct statements that are kept prepared; BullMQ has about a hundred. */
const maxPrepared = 500

/** The one session of a PGlite: one statement or transaction at a time, in the order in which they came. */
export class PgliteSession {
  readonly listeners = new Set<Listener>()
  readonly #db: PGlite
  readonly #prepared = new Map<string, string>()
  #tail: Promise<void> = Promise.resolve()
  #notifications: (readonly [channel: string, payload: string])[] = []
  #closed = false

  constructor(db: PGlite) {
    this.#db = db
    db.onNotification((channel, payload) => this.#queueNotification(channel, payload))
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Waits for the session. The one who gets it must release it. */
  async acquire(): Promise<Release> {
    let done: () => void = () => undefined
    const mine = new Promise<void>((resolve) => {
      done = resolve
    })
    const before = this.#tail
    this.#tail = before.then(() => mine)
    await before
    // PGlite works in microtasks: without a turn of the event loop, a busy queue would starve timers and sockets.
    return () => void setImmediate(done)
  }

  /** Runs one statement, or several without values. The caller holds the session. */
  async run(text: string, values: readonly unknown[] = []): Promise<Answer> {
    if (this.#closed) throw new Error(closedMessage)
    const known = this.#prepared.get(text)
    const name = known ?? (this.#prepared.size < maxPrepared ? `s${this.#prepared.size + 1}` : '')
    const request = values.length === 0 ? serialize.query(text) : bound(name, known === undefined ? text : undefined, values)
    const messages = await this.#db.execProtocolStream(request, { syncToFs: false, throwOnError: false })
    const answer = readAnswer(messages as unknown as readonly ProtocolMessage[])
    if (values.length > 0 && answer.parsed && name !== '') this.#prepared.set(text, name)
    return answer
  }

  /** Waits for what runs, then ends the session; every later statement is refused. */
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
   * Delivers in a later turn, as a socket would. PGlite calls back at once, when BullMQ has heard "no job" and has not
   * attached its listener yet: the wake-up would be lost, and the job found at the next poll.
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

/** Parse, unless the statement is known already, bind, describe, execute and sync as one message. */
function bound(name: string, text: string | undefined, values: readonly unknown[]): Buffer {
  return Buffer.concat([
    ...(text === undefined ? [] : [serialize.parse({ name, text, types: [] })]),
    serialize.bind({ statement: name, values: values.map(encodeValue) }),
    serialize.describe({ type: 'P', name: '' }),
    serialize.execute({}),
    serialize.sync(),
  ])
}
