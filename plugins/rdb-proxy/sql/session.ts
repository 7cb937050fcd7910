import type { Connection as MysqlSocket } from 'mysql2'
import { withDeadline } from 'zin'
import { discard, setUpSession } from 'zin/plugins/database'
import { connectionLost, LoginError } from './db-errors.js'
import { type Prepared, prepare } from './prepared.js'
import { sqlCache } from './sql-cache.js'

/** Time limit for setting up a new connection, in ms. */
const setUpMs = 5000

/** Prepared statements cached per connection; fewer than the driver's own cache, so that the driver never closes one in use. */
const keptStatements = 250
/** Maximum size of the SQL of the cached statements per connection, in bytes; a character takes two. */
const keptBytes = 2 ** 20
/** Longer statements are closed after one use: a single one would push out many others, or stay for as long as its connection. */
const longestKept = 64 * 1024
/** Size of the driver's own cache of prepared statements. */
export const driverStatements = 256

/** Returns the error for a server that does not respond. */
export function silent(): Error {
  return Object.assign(new Error('no response from the database'), { code: 'ETIMEDOUT' })
}

/** One connection of the proxy. */
export class Session {
  readonly socket: MysqlSocket
  readonly #readOnly: boolean
  readonly #prepared: ReturnType<typeof sqlCache<Prepared>>
  #maxPacketBytes = Number.POSITIVE_INFINITY
  #broken = false
  #onLost: ((error: Error) => void) | undefined

  /** Takes over a connection of `openSocket`. Rejects with a LoginError if the server refuses. */
  static async start(socket: MysqlSocket, readOnly: boolean): Promise<Session> {
    const session = new Session(socket, readOnly)
    try {
      await withDeadline(session.#setUp(), setUpMs, silent)
      return session
    } catch (error) {
      discard(socket)
      throw new LoginError(error)
    }
  }

  private constructor(socket: MysqlSocket, readOnly: boolean) {
    this.socket = socket
    this.#readOnly = readOnly
    this.#prepared = sqlCache<Prepared>({
      maxEntries: keptStatements,
      maxBytes: keptBytes,
      maxTextBytes: longestKept,
      onEvict: (sql) => socket.unprepare(sql),
    })
    socket.on('error', (error: Error) => this.#lose(error))
    socket.on('end', () => this.#lose(connectionLost()))
  }

  get threadId(): number {
    return this.socket.threadId ?? 0
  }

  /** Whether it was lost or its state is unknown, so that it must not be used again. */
  get broken(): boolean {
    return this.#broken
  }

  /** Size of the largest command that the server accepts, in bytes. It closes the connection in the middle of a larger one. */
  get maxPacketBytes(): number {
    return this.#maxPacketBytes
  }

  /** Runs a statement issued by the proxy itself. Returns the number of affected rows, 0 for a statement with rows. */
  async command(sql: string, values: readonly unknown[] = []): Promise<number> {
    const result: unknown = await this.rows(sql, values)
    return (result as { readonly affectedRows?: number }).affectedRows ?? 0
  }

  /** Runs a statement issued by the proxy itself; resolves to its rows as objects. */
  rows<Row>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    if (this.#broken) return Promise.reject(connectionLost())
    return new Promise((resolve, reject) => {
      this.socket.query({ sql, values: [...values], rowsAsArray: false }, (error: unknown, rows: unknown) => {
        if (error) reject(error instanceof Error ? error : new Error(String(error)))
        else resolve(rows as readonly Row[])
      })
    })
  }

  /** Returns the prepared statement, without a promise if this connection has it cached. Otherwise {@link release} must follow its use. */
  prepare(sql: string): Prepared | Promise<Prepared> {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    return prepare(this.socket, sql).then((prepared) => {
      this.#prepared.set(sql, prepared)
      return prepared
    })
  }

  /** Closes a statement after the commands sent so far, unless it is cached. */
  release(sql: string): void {
    if (!this.#prepared.has(sql)) this.socket.unprepare(sql)
  }

  /**
   * Sets the listener for a connection that is lost while a statement runs: the driver reports that only on the connection. One listener at
   * a time; undefined removes it.
   */
  onLost(listener: ((error: Error) => void) | undefined): void {
    this.#onLost = listener
  }

  #lose(error: Error): void {
    this.#broken = true
    this.#onLost?.(error)
  }

  /** Clears transactions, locks, temporary tables, variables and prepared statements of the last caller. */
  async reset(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#prepared.clear()
      this.socket.reset((error: unknown) => (error ? reject(error instanceof Error ? error : new Error(String(error))) : resolve()))
    })
    await this.#setUp()
  }

  /** Closes the connection at once. */
  discard(): void {
    this.#broken = true
    discard(this.socket)
  }

  async #setUp(): Promise<void> {
    this.#maxPacketBytes = await setUpSession(this.socket, { readOnly: this.#readOnly })
  }
}
