import type { Kysely } from 'kysely'

/** One database behind Kysely, opened and closed by the plugin. */
export interface Connection {
  readonly name: string
  readonly dialect: 'sqlite' | 'mysql'
  readonly connected: boolean
  /** For messages: `zin on localhost:3306`, or the file. Never a user or a password. */
  readonly where: string
  /** Throws DATABASE_NOT_STARTED before the first connect and after close. */
  // biome-ignore lint/suspicious/noExplicitAny: each plugin names its own tables
  tables(): Kysely<any>
  /** Single flight, bounded in time. */
  connect(): Promise<void>
  /** Integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /** Runs migrations while no other process migrates the same database. */
  exclusive<T>(task: () => Promise<T>): Promise<T>
  /** Runs one migration: in a transaction where the database can roll back DDL. */
  // biome-ignore lint/suspicious/noExplicitAny: as tables()
  step<T>(task: (db: Kysely<any>) => Promise<T>): Promise<T>
  close(): Promise<void>
}
