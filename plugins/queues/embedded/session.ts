import { AsyncResource } from 'node:async_hooks'
import { serialize } from 'pg-protocol'
import { type Logger, messageOf } from 'zin'
import { queueErrors } from '../errors.js'
import type { DataLock } from './data-lock.js'
import type { Disk } from './disk.js'
import type { Postgres } from './engine.js'
import { type ProtocolMessage, type QueryResult, type ReadResponse, readResponse } from './response.js'
import { StatementError, StoreUnavailableError } from './statement-errors.js'
import { encodeValue } from './values.js'

/** A listener for notifications of the session. */
export interface Listener {
  readonly channels: ReadonlySet<string>
  notify(channel: string, payload: string): void
}

export type Release = () => void

export interface QueryResponse {
  readonly result: QueryResult
  readonly error: StatementError | StoreUnavailableError | undefined
  /** Whether the transaction is still open. */
  readonly inTransaction: boolean
}

export interface SessionParts {
  readonly disk: Disk
  readonly lock: Pick<DataLock, 'confirm' | 'lost'>
  /** Opens the data again after PostgreSQL has ended. */
  readonly reopen: () => Promise<Postgres>
  readonly log?: Logger | undefined
}

/** BullMQ recognizes this message as the end of a pool rather than a failure. */
const closedMessage = 'Cannot use a pool after calling end on the pool'
/** SQLSTATE of a write that failed for lack of space, and of one that was refused. */
const [diskFull, readOnlyTransaction] = ['53100', '25006']
/** Size of a request that is checked against the free space by itself, in bytes. */
const largeBytes = 2 ** 20
/** Maximum number of prepared statements; BullMQ uses about a hundred. */
const maxPrepared = 500

/** How long a log that may be dropped is kept when space is short, in ms. */
const checkpointEveryMs = 10_000
/** Wait before PostgreSQL is opened again: at first, and at most, in ms. */
const [firstRetryMs, lastRetryMs] = [1000, 15_000]
/** This process holds all locks; those that ran out while nothing could be written would let other workers take jobs that are running. */
const renewLocks = `update job set locked_until_ms = extract(epoch from clock_timestamp()) * 1000 + 30000
  where state = 'active' and locked_until_ms > 0`

/**
 * The single session of PGlite: one statement or transaction at a time, in order of arrival. When the disk has too little space, it only reads.
 * When PostgreSQL ends, the next statement opens it again.
 */
export class PgliteSession {
  readonly listeners = new Set<Listener>()
  readonly #parts: SessionParts
  #postgres: Postgres | undefined
  /** In the context of whoever opened the store: PostgreSQL sets timers that outlive the statement, and these belong to the store. */
  readonly #execute: (postgres: Postgres, request: Uint8Array) => Promise<readonly ProtocolMessage[]>
  readonly #prepared = new Map<string, string>()
  #tail: Promise<void> = Promise.resolve()
  #notifications: (readonly [channel: string, payload: string])[] = []
  #closed = false
  #inTransaction = false
  #readOnly = false
  #checkpointAt = Number.NEGATIVE_INFINITY
  #retryMs = firstRetryMs
  #retryAt = Number.NEGATIVE_INFINITY

  constructor(postgres: Postgres, parts: SessionParts) {
    this.#parts = parts
    this.#execute = AsyncResource.bind((running: Postgres, request: Uint8Array) => running.run(request))
    this.#use(postgres)
  }

  get closed(): boolean {
    return this.#closed
  }

  get lacksSpace(): boolean {
    return this.#parts.disk.lacks()
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
    await this.confirm()
    if (!this.#postgres) await this.#reopen()
    await this.#mindSpace()
    const known = this.#prepared.get(text)
    const name = known ?? (this.#prepared.size < maxPrepared ? `s${this.#prepared.size + 1}` : '')
    const request = values.length === 0 ? serialize.query(text) : bound(name, known === undefined ? text : undefined, values)
    // Twice: in a table and in the log, and some more for indexes.
    if (request.length > largeBytes && this.#parts.disk.lacks(3 * request.length)) throw this.#full()
    const { error, inTransaction, parsed, result } = await this.#send(request)
    if (values.length > 0 && parsed && name !== '') this.#prepared.set(text, name)
    return { result, inTransaction, error: error && this.#errorOf(error) }
  }

  /** Throws if another process has taken over the data, and then writes nothing any more. The caller holds the session. */
  async confirm(): Promise<void> {
    const { lock } = this.#parts
    await lock.confirm()
    if (!lock.lost) return
    this.#postgres?.abandon()
    this.#postgres = undefined
    throw new StoreUnavailableError(lock.lost)
  }

  /** Waits for the running statement, then ends the session; later statements are rejected. */
  async close(): Promise<void> {
    const release = await this.acquire()
    this.#closed = true
    this.listeners.clear()
    try {
      await this.confirm().catch(() => undefined)
      await this.#postgres?.close()
    } finally {
      release()
    }
  }

  #use(postgres: Postgres): void {
    this.#postgres = postgres
    this.#prepared.clear()
    this.#inTransaction = false
    this.#readOnly = false
    postgres.onNotification((channel, payload) => this.#queueNotification(channel, payload))
  }

  async #send(request: Uint8Array): Promise<ReadResponse> {
    const postgres = this.#postgres
    if (!postgres) throw this.#full()
    try {
      const response = readResponse(await this.#execute(postgres, request))
      this.#inTransaction = response.inTransaction
      return response
    } catch (error) {
      postgres.abandon()
      this.#postgres = undefined
      this.#parts.disk.forget()
      this.#parts.log?.error(
        { reason: messageOf(error), free: this.#parts.disk.free },
        'the embedded PostgreSQL ended; it will be opened again',
      )
      throw this.#parts.disk.lacks() ? this.#full() : ended(error)
    }
  }

  /** Opens PostgreSQL again, unless it would end at once. */
  async #reopen(): Promise<void> {
    const { disk, log, reopen } = this.#parts
    if (disk.lacks()) throw this.#full()
    if (performance.now() < this.#retryAt) throw ended('it could not be opened again; the next attempt follows')
    try {
      this.#use(await reopen())
    } catch (error) {
      this.#retryAt = performance.now() + this.#retryMs
      this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs)
      throw ended(error)
    }
    this.#retryMs = firstRetryMs
    for (const channel of new Set([...this.listeners].flatMap(({ channels }) => [...channels]))) {
      await this.#send(serialize.query(`LISTEN "${channel}"`))
    }
    await this.#send(serialize.query(renewLocks))
    log?.info('the embedded PostgreSQL was opened again')
  }

  /** Makes PostgreSQL refuse writes while space is short: it ends when its log cannot be written. */
  async #mindSpace(): Promise<void> {
    const { disk, log } = this.#parts
    // Within a transaction, the change would be undone with it.
    if (this.#inTransaction || disk.lacks() === this.#readOnly) return
    const now = performance.now()
    if (!this.#readOnly && disk.free > 0 && now - this.#checkpointAt > checkpointEveryMs) {
      this.#checkpointAt = now
      await this.#send(serialize.query('CHECKPOINT'))
      disk.forget()
      if (!disk.lacks()) return
    }
    const readOnly = !this.#readOnly
    await this.#send(serialize.query(`SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`))
    this.#readOnly = readOnly
    if (readOnly) return log?.error({ free: disk.free }, `${this.#full().message}`)
    await this.#send(serialize.query(renewLocks))
    log?.info({ free: disk.free }, 'the disk of the queue has space again; jobs are accepted')
  }

  #full(): StoreUnavailableError {
    const { dir, free } = this.#parts.disk
    return new StoreUnavailableError(queueErrors.QUEUE_DISK_FULL(dir, free))
  }

  #errorOf(error: ProtocolMessage): StatementError | StoreUnavailableError {
    if (error.code === diskFull) this.#parts.disk.failed()
    if (error.code === diskFull || error.code === readOnlyTransaction) return this.#full()
    return new StatementError(error)
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

function ended(reason: unknown): StoreUnavailableError {
  return new StoreUnavailableError(queueErrors.QUEUE_CONNECTION_ERROR('embedded', `PostgreSQL ended: ${messageOf(reason)}`))
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
