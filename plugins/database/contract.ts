import type { Kysely, Transaction } from 'kysely'
import { defineService } from 'zin'
import type { Migrations } from './migrator/migrations.js'

/** SQL tables behind Kysely. One schema serves SQLite and MySQL/MariaDB: see the README's portability rules. */
export interface Database {
  /** Of the connection `default`. */
  readonly dialect: 'sqlite' | 'mysql'
  /** Of a connection of the config. Throws DATABASE_UNKNOWN_CONNECTION. */
  dialectOf(name?: string): 'sqlite' | 'mysql'
  /** False before the first successful connect and after a lost one. */
  readonly connected: boolean
  /** Connects, bounded in time. Safe to call again. */
  connect(): Promise<void>
  /** A handle for one's own tables. `name` is a connection of the config; default `default`. */
  // biome-ignore lint/suspicious/noExplicitAny: each plugin names its own tables
  tables<Tables = any>(name?: string): Kysely<Tables>
  /**
   * Runs the work in a transaction, and all of it again when the server gave it up in favour of another one (a deadlock):
   * it must do nothing outside of the transaction that may not be done twice. A statement outside of any is repeated by itself.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as tables()
  transaction<T, Tables = any>(work: (tx: Transaction<Tables>) => Promise<T>, name?: string): Promise<T>
  /** Asks the server on a connection of its own, so that a busy pool is not taken for a broken one. Integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /** INSERT, or update of the non-key columns when the key exists; portable over both dialects. */
  upsert(table: string, key: readonly string[], row: Readonly<Record<string, unknown>>, name?: string): Promise<void>
  /** INSERT that does nothing when the key exists; true when the row was inserted. Atomic. */
  insertIfAbsent(table: string, row: Readonly<Record<string, unknown>>, name?: string): Promise<boolean>
  /** Whether an error says that a unique key exists already. */
  isUniqueViolation(error: unknown): boolean
  /** Whether an error says that the server cannot be reached, or is too busy (so the caller answers 503). */
  isUnavailable(error: unknown): boolean
  /** The schema's history on the connection `default`, for commands that show or change it. */
  readonly migrations: Migrations
}

export const databaseService = defineService<Database>('database')
