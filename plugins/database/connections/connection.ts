import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Callers } from './callers.js'

/** One database behind Kysely, opened and closed by the plugin. */
export interface Connection {
  readonly name: string
  readonly dialect: 'sqlite' | 'mysql'
  readonly connected: boolean
  /** Whether other machines can use it, so that it must belong to this app. */
  readonly shared: boolean
  /** The calls of `transaction()`, if the database has a single connection. */
  readonly callers?: Callers
  /** For messages: `zin on localhost:3306`, or the file. Never a user or a password. */
  readonly where: string
  /** Throws DATABASE_NOT_STARTED before the first connect and after close. */
  // biome-ignore lint/suspicious/noExplicitAny: each plugin names its own tables
  tables(): Kysely<any>
  /** Runs the queries in one transaction, in order: all or nothing. Retried after a deadlock. */
  batch(queries: readonly CompiledQuery[]): Promise<readonly QueryResult<unknown>[]>
  /** Single flight, bounded in time. */
  connect(): Promise<void>
  /** Integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /** See {@link Database.writeFault}. */
  writeFault(signal?: AbortSignal): Promise<string | undefined>
  /** Runs migrations while no other process migrates the same database. */
  exclusive<T>(task: () => Promise<T>): Promise<T>
  /** Runs one migration: in a transaction where the database can roll back DDL. */
  // biome-ignore lint/suspicious/noExplicitAny: as tables()
  step<T>(task: (db: Kysely<any>) => Promise<T>): Promise<T>
  close(): Promise<void>
}
