import type { Compilable, Kysely, QueryResult, Transaction } from 'kysely'
import { defineService } from 'zin'
import type { Migrations } from './migrator/migrations.js'
import type { QueryObserver } from './observers.js'

/** SQL tables through Kysely. One schema serves SQLite and MySQL/MariaDB: see the portability rules in the README. */
export interface Database {
  /** Dialect of the connection `default`. */
  readonly dialect: 'sqlite' | 'mysql'
  /** Dialect of a configured connection. Throws DATABASE_UNKNOWN_CONNECTION. */
  dialectOf(name?: string): 'sqlite' | 'mysql'
  /** False before the first successful connect and while the connection is lost. */
  readonly connected: boolean
  /** Connects, bounded in time. Safe to call again. */
  connect(): Promise<void>
  /**
   * Throws DATABASE_MISSING when the connection `default` is a SQLite file that does not exist, which {@link Database.connect} would
   * create. Opens nothing. For the `check` of commands that only read.
   */
  checkExists(): Promise<void>
  /** A Kysely handle typed with your tables. `name` is a configured connection; default `default`. */
  // biome-ignore lint/suspicious/noExplicitAny: each plugin names its own tables
  tables<Tables = any>(name?: string): Kysely<Tables>
  /**
   * Runs the work in a transaction, and retries all of it after a deadlock: side effects outside of the transaction must be
   * repeatable. A single statement outside of a transaction is retried automatically. The edge proxy has no interactive transactions, and
   * the relational proxy has them only if it allows them: use {@link Database.batch} in code that must run on every connection.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as tables()
  transaction<T, Tables = any>(work: (tx: Transaction<Tables>) => Promise<T>, name?: string): Promise<T>
  /**
   * Whether the calling code was started within {@link Database.transaction} of a database with a single connection (SQLite), so that a
   * query outside of the transaction's handle would wait for its own caller. Such a query fails with DATABASE_OWN_TRANSACTION.
   */
  inOwnTransaction(name?: string): boolean
  /**
   * Runs queries in one transaction, in order: all or nothing. Works on every connection: behind a proxy it is a single request, whereas
   * {@link Database.transaction} needs a proxy that holds connections. Retried after a deadlock.
   */
  batch(queries: readonly Compilable[], name?: string): Promise<readonly QueryResult<unknown>[]>
  /** Pings the server on a separate connection, so that a busy pool does not look like a broken server. Integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /**
   * Why the database can be read but not written: the disk of a SQLite file is full, or a quota of it (a write failed in the last 30 s, and
   * none has succeeded since), or a MySQL or MariaDB server is read-only. Undefined if none is so; SQL proxies are not asked. Rejects when
   * the server cannot be reached.
   */
  writeFault(signal?: AbortSignal): Promise<string | undefined>
  /** Inserts the row, or updates the non-key columns when the key exists; portable across both dialects. */
  upsert(table: string, key: readonly string[], row: Readonly<Record<string, unknown>>, name?: string): Promise<void>
  /**
   * Inserts the row unless the key exists; true when it was inserted. Atomic. The columns of `key` must have a unique index; a violation of
   * another one throws.
   */
  insertIfAbsent(table: string, key: readonly string[], row: Readonly<Record<string, unknown>>, name?: string): Promise<boolean>
  /** @deprecated Pass the key columns, as to `upsert`. Without them, the result is false if any unique key of the row exists. */
  insertIfAbsent(table: string, row: Readonly<Record<string, unknown>>, name?: string): Promise<boolean>
  /** Whether an error is a violation of a unique key. */
  isUniqueViolation(error: unknown): boolean
  /** Whether an error means that the server is unreachable or too busy, so that the caller responds with 503. */
  isUnavailable(error: unknown): boolean
  /**
   * Calls the observer after each query, in the async context of the caller, on connections opened from now on: call it in `setup` to cover
   * all connections. It must not throw. Returns a function that removes it.
   *
   * @example
   * const slow = ctx.services.database.observe(({ ms, sql }) => ms > 500 && log.warn({ ms, sql }, 'slow query'))
   */
  observe(observer: QueryObserver): () => void
  /** The migrations of the connection `default`, for commands that show or change them. */
  readonly migrations: Migrations
}

export const databaseService = defineService<Database>('database')
