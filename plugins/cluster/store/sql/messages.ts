import { AsyncResource } from 'node:async_hooks'
import { type Clock, type Logger, messageOf } from 'zin'
import { deleteBefore, inList } from 'zin/plugins/database'
import type { Envelope, StoreListener } from '../contract.js'
import type { SqlConnection } from './connection.js'
import { Cursor } from './cursor.js'

/** Poll intervals, in ms: when idle, after a message was sent or received, and while the database is unavailable. */
const idleMs = 250
const busyMs = 20
const retryMs = 2_000

/** How long after a message the shorter interval applies, in ms: senders usually wait for a reply. */
const busyForMs = 1_000

/** Messages sent up to this many ms before the first poll are received too. */
const overlapMs = 1_000

/** How long a message is kept, in ms. */
export const messageMs = 120_000

/** Most rows of one poll. A reader with a larger backlog skips it and reports missed messages. */
const pageSize = 1_000
const mostPages = 10

const table = 'zin_cluster_messages'

/** Messages as rows; every node reads all of them. */
export class SqlMessages {
  readonly #connection: SqlConnection
  readonly #clock: Clock
  readonly #log: Logger
  #listener: StoreListener | undefined
  /** Runs timers in the async context of the store, not in that of the request or plugin that sent last. */
  #owner: AsyncResource | undefined
  /** The last insert; inserts run one at a time to keep the order of the sender. */
  #sending: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #cursor: Cursor | undefined
  #openedAt = 0
  #busyUntil = 0
  /** Full pages in a row. */
  #fullPages = 0
  #away = false

  constructor(connection: SqlConnection, clock: Clock, log: Logger) {
    this.#connection = connection
    this.#clock = clock
    this.#log = log
  }

  open(listener: StoreListener): void {
    this.#listener = listener
    this.#owner = new AsyncResource('SqlMessages')
    this.#openedAt = this.#clock.monotonic()
    this.#next(0)
  }

  async close(): Promise<void> {
    this.#listener = undefined
    clearTimeout(this.#timer)
    await this.#polling
  }

  async send(message: Envelope): Promise<void> {
    const { cluster } = this.#connection
    const insert = () =>
      this.#connection.run(({ db, now }) =>
        db
          .insertInto(table)
          .values({ cluster, body: JSON.stringify(message), sent_at: now })
          .execute(),
      )
    const sent = this.#sending.then(insert, insert)
    this.#sending = sent.catch(() => undefined)
    await sent
    this.#hurry()
  }

  async sweep(): Promise<void> {
    await this.#connection.run(({ db, nowPlus }) =>
      deleteBefore(db, { table, key: ['id'], column: 'sent_at', before: nowPlus(-messageMs) }),
    )
  }

  #hurry(): void {
    this.#busyUntil = this.#clock.monotonic() + busyForMs
    if (!this.#away) this.#next(0)
  }

  #next(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#listener !== undefined) this.#timer = this.#owner?.runInAsyncScope(() => setTimeout(() => this.#tick(), ms))
  }

  #tick(): void {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
      this.#next(this.#away ? retryMs : this.#fullPages > 0 ? 0 : this.#clock.monotonic() < this.#busyUntil ? busyMs : idleMs)
    })
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    try {
      const cursor = this.#cursor ?? new Cursor(await this.#lastBefore(overlapMs + this.#clock.monotonic() - this.#openedAt), this.#clock)
      this.#cursor = cursor
      const rows = await this.#read(cursor)
      const listener = this.#listener
      if (listener === undefined) return
      if (this.#away) {
        this.#away = false
        this.#log.info('messages of other nodes are received again')
        listener.onMissed()
      }
      this.#fullPages = rows.length < pageSize ? 0 : this.#fullPages + 1
      const bodies = cursor.take(rows)
      if (bodies.some((body) => body !== null)) this.#busyUntil = this.#clock.monotonic() + busyForMs
      for (const body of bodies) if (body !== null) listener.onMessage(JSON.parse(body) as Envelope)
      if (this.#fullPages > mostPages) await this.#skip(listener)
    } catch (error) {
      if (!this.#away) this.#log.warn({ reason: messageOf(error) }, 'messages of other nodes are not received; retrying')
      this.#away = true
    }
  }

  /** Skips a backlog that is too large: continues at the newest message. */
  async #skip(listener: StoreListener): Promise<void> {
    this.#cursor = new Cursor(await this.#lastBefore(0), this.#clock)
    this.#fullPages = 0
    this.#log.warn('messages of other nodes arrived faster than they could be read; some were skipped')
    listener.onMissed()
  }

  async #lastBefore(ms: number): Promise<number> {
    const row = await this.#connection.run(({ db, nowPlus }) =>
      db
        .selectFrom(table)
        .select((eb) => eb.fn.max('id').as('last'))
        .where('sent_at', '<', nowPlus(-ms))
        .executeTakeFirst(),
    )
    return Number(row?.last ?? 0)
  }

  /** Includes rows of other clusters without their body, so that their numbers are not awaited. */
  #read(cursor: Cursor): Promise<readonly { readonly id: number; readonly body: string | null }[]> {
    const { last, missing } = cursor
    return this.#connection.run(async ({ db }) => {
      const skipped = await inList(db, 'id', missing)
      return db
        .selectFrom(table)
        .select((eb) => ['id', eb.case().when('cluster', '=', this.#connection.cluster).then(eb.ref('body')).else(null).end().as('body')])
        .where((eb) => (missing.length === 0 ? eb('id', '>', last) : eb.or([eb('id', '>', last), skipped])))
        .orderBy('id')
        .limit(pageSize)
        .execute()
    })
  }
}
