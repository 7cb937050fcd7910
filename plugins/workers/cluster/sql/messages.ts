import { type Clock, type Logger, messageOf } from 'zin'
import type { ClusterMessage, SentMessage } from '../cluster.js'
import { Listeners } from '../listeners.js'
import { Cursor } from './cursor.js'
import type { SqlStore } from './sql-store.js'

/** How often new messages are looked for while anybody listens, in ms; and while the database is away. */
const pollMs = 250
const retryMs = 2_000

/** Messages of so many ms before the first poll are heard too: the sender may have been faster than the poll. */
const overlapMs = 1_000

/** How long a message is kept, in ms. */
export const messageMs = 120_000

/** Longest list of one poll. */
const pageSize = 1_000

/** Messages as rows that everybody reads, each process for itself. */
export class SqlMessages {
  readonly #store: SqlStore
  readonly #clock: Clock
  readonly #log: Logger
  readonly #listeners: Listeners
  /** The last insert: one at a time keeps the order of a sender. */
  #sending: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #cursor: Cursor | undefined
  #listensSince = 0
  #away = false
  #open = false

  constructor(store: SqlStore, clock: Clock, log: Logger) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#listeners = new Listeners(log)
  }

  open(): void {
    this.#open = true
    if (this.#listeners.size > 0) this.#begin()
  }

  async close(): Promise<void> {
    this.#open = false
    clearTimeout(this.#timer)
    await this.#polling
  }

  listen(listener: (message: ClusterMessage) => void): () => void {
    const unlisten = this.#listeners.add(listener)
    if (this.#open && this.#listeners.size === 1) this.#begin()
    return () => {
      unlisten()
      if (this.#listeners.size === 0) clearTimeout(this.#timer)
    }
  }

  /** One statement for all of them. */
  async send(messages: readonly SentMessage[]): Promise<void> {
    const insert = () =>
      this.#store.run(({ db, names, now }) =>
        db
          .insertInto(names.messages)
          .values(messages.map((message) => ({ body: JSON.stringify(message), sent_at: now })))
          .execute(),
      )
    const sent = this.#sending.then(insert, insert)
    this.#sending = sent
    await sent
  }

  async sweep(): Promise<void> {
    await this.#store.run(({ db, names, nowPlus }) => db.deleteFrom(names.messages).where('sent_at', '<', nowPlus(-messageMs)).execute())
  }

  #begin(): void {
    this.#cursor = undefined
    this.#listensSince = this.#clock.monotonic()
    this.#next(0)
  }

  #next(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#open && this.#listeners.size > 0) this.#timer = setTimeout(() => this.#tick(), ms)
  }

  #tick(): void {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
      this.#next(this.#away ? retryMs : pollMs)
    })
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    try {
      const cursor =
        this.#cursor ?? new Cursor(await this.#lastBefore(overlapMs + this.#clock.monotonic() - this.#listensSince), this.#clock)
      this.#cursor = cursor
      const rows = await this.#read(cursor)
      if (!this.#open) return
      if (this.#away) {
        this.#away = false
        this.#log.info('messages of other processes are heard again')
        this.#listeners.tell({ kind: 'resync' })
      }
      for (const body of cursor.take(rows)) this.#listeners.tell(JSON.parse(body) as ClusterMessage)
    } catch (error) {
      if (!this.#away) this.#log.warn({ reason: messageOf(error) }, 'messages of other processes are not heard; trying again')
      this.#away = true
    }
  }

  async #lastBefore(ms: number): Promise<number> {
    const row = await this.#store.run(({ db, names, nowPlus }) =>
      db
        .selectFrom(names.messages)
        .select((eb) => eb.fn.max('id').as('last'))
        .where('sent_at', '<', nowPlus(-ms))
        .executeTakeFirst(),
    )
    return Number(row?.last ?? 0)
  }

  #read(cursor: Cursor): Promise<readonly { readonly id: number; readonly body: string }[]> {
    const { last, missing } = cursor
    return this.#store.run(({ db, names }) =>
      db
        .selectFrom(names.messages)
        .select(['id', 'body'])
        .where((eb) => (missing.length === 0 ? eb('id', '>', last) : eb.or([eb('id', '>', last), eb('id', 'in', missing)])))
        .orderBy('id')
        .limit(pageSize)
        .execute(),
    )
  }
}
