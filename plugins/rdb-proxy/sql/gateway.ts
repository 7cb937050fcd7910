import type { ConnectionOptions } from 'mysql2'
import { withDeadline } from 'zin'
import { type OpenSocket, openSocket } from 'zin/plugins/database'
import type { WireParam } from 'zin/plugins/sql-wire'
import { BaseTables } from './base-tables.js'
import { Collector, type RowOptions } from './collect.js'
import { LoginError } from './db-errors.js'
import { type Changes, execute } from './execute.js'
import { Pool } from './pool.js'
import { driverStatements, Session, silent } from './session.js'
import { sqlCache } from './sql-cache.js'
import { statelessTables, type TableName } from './stateless.js'
import { type ClientWatch, type KillQuery, killQuery, withTimeLimit } from './time-limit.js'
import { bindValues } from './values.js'

export interface GatewayOptions {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly writer: { readonly user: string; readonly password: string }
  readonly reader: { readonly user: string; readonly password: string }
  /** Maximum number of connections in each of the two pools. */
  readonly poolLimit: number
  readonly queue: number
  readonly waitMs: number
  /** Checks the account of a new connection for writing. It rejects with the reason why the connection must not be used. */
  readonly checkWriter?: (session: Session) => Promise<void>
}

export interface Run extends RowOptions {
  readonly sql: string
  readonly params: readonly WireParam[]
  readonly timeoutMs: number
  readonly reads: boolean
  /** Whether it may change the schema. */
  readonly ddl?: boolean
  readonly client?: ClientWatch | undefined
}

/** Result of a statement. `changes` is undefined if it has rows. */
export interface RunResult {
  readonly changes: Changes | undefined
  readonly collected: Collector
  readonly dbMs: number
}

const connectTimeoutMs = 5000

/** The database behind the proxy, with one connection pool for reads and one for writes. */
export class Gateway {
  readonly reading: Pool<Session>
  readonly writing: Pool<Session>
  readonly kill: KillQuery
  readonly where: string
  /** Opens a connection as the reading user outside of the pools. */
  readonly openReader: () => Promise<Session>
  /** The same as the writing user. */
  readonly openWriter: () => Promise<Session>

  constructor({ host, port, database, writer, reader, poolLimit, queue, waitMs, checkWriter }: GatewayOptions) {
    this.where = `${database} on ${host}:${port}`
    const options = (account: { readonly user: string; readonly password: string }): ConnectionOptions => ({
      host,
      port,
      database,
      ...account,
      ...lossless,
      connectTimeout: connectTimeoutMs,
    })
    const opener =
      (account: { readonly user: string; readonly password: string }): OpenSocket =>
      (limitMs) =>
        openSocket(options(account), limitMs)
    const [openRead, openWrite] = [opener(reader), opener(writer)]
    const start = async (open: OpenSocket, readOnly: boolean): Promise<Session> => {
      const socket = await open(connectTimeoutMs).catch((error: unknown) => {
        throw new LoginError(error)
      })
      return Session.start(socket, readOnly)
    }
    this.openReader = () => start(openRead, true)
    this.openWriter = async () => {
      const session = await start(openWrite, false)
      await checkWriter?.(session).catch((error: unknown) => {
        session.discard()
        throw error
      })
      return session
    }
    const limits = { limit: poolLimit, queue, waitMs }
    this.reading = new Pool({ ...limits, open: this.openReader })
    this.writing = new Pool({ ...limits, open: this.openWriter })
    // To kill statements of the reading user, the writing user would need an extra privilege.
    this.kill = killQuery(openWrite)
    this.#baseTables = new BaseTables({ database, read: (work) => this.use('reading', work) })
    this.#killReader = writer.user === reader.user ? this.kill : killQuery(openRead)
  }

  readonly #killReader: KillQuery
  readonly #stateless = sqlCache<readonly TableName[] | 'no'>()
  readonly #baseTables: BaseTables
  /** Connections that were not reset after their last use. */
  readonly #used = new WeakSet<Session>()
  /** Callbacks that stop waiting for connections that are being reset. */
  readonly #returning = new Set<() => void>()

  /** Runs a statement on a pooled connection. */
  run(run: Run): Promise<RunResult> {
    const work = (session: Session) => this.runOn(session, run)
    return run.reads ? this.use('reading', work, this.#tablesIfStateless(run.sql)) : this.use('writing', work)
  }

  #tablesIfStateless(sql: string): readonly TableName[] | undefined {
    let found = this.#stateless.get(sql)
    if (found === undefined) {
      found = statelessTables(sql) ?? 'no'
      this.#stateless.set(sql, found)
    }
    return found === 'no' ? undefined : found
  }

  /** Runs a statement on a connection held by the caller. */
  runOn(session: Session, run: Run): Promise<RunResult> {
    const execute = () => withTimeLimit(session, this.killerOf(run.reads), run, () => this.#execute(session, run))
    if (run.ddl !== true) return execute()
    this.#baseTables.forget()
    return execute().finally(() => this.#baseTables.forget())
  }

  #execute(session: Session, run: Run): Promise<RunResult> {
    const collected = new Collector(run)
    const began = performance.now()
    return execute(session, run.sql, bindValues(run.params), {
      sink: collected,
      resultOf: (changes) => ({ changes, collected, dbMs: performance.now() - began }),
      // The rest of a refused result must not be mistaken for the result of the next statement.
      onFault: () => {
        if (collected.started && !session.broken) this.abandon(session, run.reads)
      },
    })
  }

  /** Closes a connection and kills the statement running on it. */
  abandon(session: Session, reads: boolean): void {
    session.discard()
    void this.killerOf(reads)(session.threadId)
  }

  killerOf(reads: boolean): KillQuery {
    return reads ? this.#killReader : this.kill
  }

  /**
   * Runs work on a pooled connection. Unless the work is stateless, the connection is reset before its next use, so that variables, locks
   * and open transactions never reach another caller. Stateless work leaves only warnings, which other stateless work cannot read.
   *
   * @param tables those of `statelessTables`: the work is stateless as long as all of them are base tables.
   */
  use<T>(kind: 'reading' | 'writing', work: (session: Session) => Promise<T>, tables?: readonly TableName[]): Promise<T> {
    const pool = this[kind]
    const session = pool.acquire()
    return session instanceof Promise
      ? session.then((opened) => this.#lend(pool, opened, work, tables))
      : this.#lend(pool, session, work, tables)
  }

  #lend<T>(pool: Pool<Session>, session: Session, work: (session: Session) => Promise<T>, tables?: readonly TableName[]): Promise<T> {
    const { version } = this.#baseTables
    const stateless = tables !== undefined && this.#baseTables.has(tables)
    const giveBack = (): void => {
      // A table may have become a view before the statement ran.
      const isClean = stateless && (version === this.#baseTables.version || tables.length === 0)
      if (isClean || session.broken) pool.release(session)
      else void this.#giveBack(pool, session)
    }
    const begun = !stateless && this.#used.has(session) ? this.#reset(session).then(() => work(session)) : work(session)
    if (stateless) this.#used.add(session)
    return begun.then(
      (result) => {
        giveBack()
        return result
      },
      (error: unknown) => {
        giveBack()
        throw error
      },
    )
  }

  async #reset(session: Session): Promise<void> {
    try {
      await withDeadline(session.reset(), connectTimeoutMs, silent)
      this.#used.delete(session)
    } catch (error) {
      session.discard()
      throw error
    }
  }

  /** Resets a connection after the response was sent; its place in the pool stays occupied meanwhile. */
  async #giveBack(pool: Pool<Session>, session: Session): Promise<void> {
    let giveUp: () => void = () => undefined
    const late = new Promise<boolean>((resolve) => {
      giveUp = () => resolve(false)
    })
    const timer = setTimeout(giveUp, connectTimeoutMs)
    this.#returning.add(giveUp)
    const reset = session.reset().then(
      () => true,
      () => false,
    )
    const clean = await Promise.race([reset, late])
    clearTimeout(timer)
    this.#returning.delete(giveUp)
    if (clean) this.#used.delete(session)
    else session.discard()
    pool.release(session)
  }

  /** Closes connections that were idle since the last call. */
  trim(): void {
    this.reading.trim()
    this.writing.trim()
  }

  close(): void {
    this.reading.close()
    this.writing.close()
    for (const giveUp of [...this.#returning]) giveUp()
  }
}

/** Driver options that keep values exact; types without a JSON form arrive as text. */
const lossless: ConnectionOptions = {
  charset: 'utf8mb4',
  timezone: 'Z',
  supportBigNumbers: true,
  bigNumberStrings: true,
  dateStrings: true,
  jsonStrings: true,
  decimalNumbers: false,
  multipleStatements: false,
  namedPlaceholders: false,
  maxPreparedStatements: driverStatements,
  rowsAsArray: true,
  enableKeepAlive: true,
  flags: ['-LOCAL_FILES'],
}
