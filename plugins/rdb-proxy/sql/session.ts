import { LRUCache } from 'lru-cache'
import type { Connection as MysqlSocket } from 'mysql2'
import { withDeadline } from 'zin'
import { discard } from 'zin/plugins/database'
import { connectionLost, LoginError } from './db-errors.js'
import { type Prepared, prepare } from './prepared.js'

/** The modes in which the proxy's own rules of types hold; a caller may not change them. */
const sqlMode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'

/** How long the server may take to set a new connection up, in ms. */
const setUpMs = 5000

/** Statements that a connection keeps prepared; fewer than the driver itself would keep, so that it never closes one that is used here. */
const keptStatements = 250
/** What the driver keeps by itself. */
export const driverStatements = 256

/** The error of a server that does not respond. */
export function silent(): Error {
  return Object.assign(new Error('no response of the database'), { code: 'ETIMEDOUT' })
}

/** One connection of the proxy. */
export class Session {
  readonly socket: MysqlSocket
  readonly #readOnly: boolean
  readonly #prepared: LRUCache<string, Prepared>
  #broken = false
  #onLost: ((error: Error) => void) | undefined

  /** Takes an open connection and sets it up. Rejects when the server refuses. */
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
    this.#prepared = new LRUCache({
      max: keptStatements,
      dispose: (_, sql, reason) => {
        if (reason === 'evict') socket.unprepare(sql)
      },
    })
    socket.on('error', (error: Error) => this.#lose(error))
    socket.on('end', () => this.#lose(connectionLost()))
  }

  get threadId(): number {
    return this.socket.threadId ?? 0
  }

  /** Whether it was lost, or its state is unknown, so that nobody may use it again. */
  get broken(): boolean {
    return this.#broken
  }

  /** Runs a statement of the proxy's own, without results. */
  async command(sql: string, values: readonly unknown[] = []): Promise<void> {
    await this.rows(sql, values)
  }

  /** Runs a statement of the proxy's own, and resolves to its rows as objects. */
  rows<Row>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.socket.query({ sql, values: [...values], rowsAsArray: false }, (error: unknown, rows: unknown) => {
        if (error) reject(error instanceof Error ? error : new Error(String(error)))
        else resolve(rows as readonly Row[])
      })
    })
  }

  /** The prepared form of a statement: at once when this connection knows it. */
  prepare(sql: string): Prepared | Promise<Prepared> {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    return prepare(this.socket, sql).then((prepared) => {
      this.#prepared.set(sql, prepared)
      return prepared
    })
  }

  /**
   * Tells of a connection that is lost while a statement runs on it, which the driver tells the connection alone. One listener at a time;
   * undefined ends it.
   */
  onLost(listener: ((error: Error) => void) | undefined): void {
    this.#onLost = listener
  }

  #lose(error: Error): void {
    this.#broken = true
    this.#onLost?.(error)
  }

  /** Ends transactions, locks, temporary tables, variables and prepared statements of the last caller. */
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
    await this.command('SET NAMES utf8mb4')
    await this.command(`SET SESSION time_zone = '+00:00', sql_mode = '${sqlMode}', autocommit = 1`)
    if (this.#readOnly) await this.command('SET SESSION TRANSACTION READ ONLY')
  }
}
