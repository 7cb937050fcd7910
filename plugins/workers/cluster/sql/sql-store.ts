import type { Kysely, RawBuilder, Transaction } from 'kysely'
import { messageOf } from 'zin'
import type { Database } from 'zin/plugins/database'
import { workerErrors } from '../../errors.js'
import { type ClusterTables, type TableNames, tableNames } from './tables.js'

/** What a statement is made of. */
export interface SqlTools {
  readonly db: Kysely<ClusterTables>
  readonly names: TableNames
  readonly mysql: boolean
  /** ms since 1970 by the database's clock, whatever the time zone of the server. */
  readonly now: RawBuilder<number>
  transaction<T>(statements: (tx: Transaction<ClusterTables>) => Promise<T>): Promise<T>
  /** Start of the minute of that time. */
  readonly minute: RawBuilder<number>
  /** That time, and so many ms before or after it. */
  nowPlus(ms: number): RawBuilder<number>
  /** A text in a column of JSON. */
  field(column: string, name: string): RawBuilder<string>
}

/** Where the tables of a cluster are. */
export class SqlStore {
  readonly #database: Database
  readonly #connection: string
  readonly #names: TableNames
  #kysely: Promise<typeof import('kysely')> | undefined

  constructor(database: Database, connection: string, prefix: string) {
    this.#database = database
    this.#connection = connection
    this.#names = tableNames(prefix)
  }

  /** Does the work; an unreachable database is WORKER_CLUSTER_UNAVAILABLE. */
  async run<T>(work: (tools: SqlTools) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#tools())
    } catch (error) {
      throw this.#database.isUnavailable(error) ? workerErrors.WORKER_CLUSTER_UNAVAILABLE('the database', messageOf(error)) : error
    }
  }

  /** Inserts a row unless its key exists; true when it did. */
  insertIfAbsent(table: keyof ClusterTables, row: Readonly<Record<string, unknown>>): Promise<boolean> {
    return this.#database.insertIfAbsent(this.#names[table], row, this.#connection)
  }

  isUnavailable(error: unknown): boolean {
    return (error instanceof Error && 'code' in error && error.code === 'WORKER_CLUSTER_UNAVAILABLE') || this.#database.isUnavailable(error)
  }

  async #tools(): Promise<SqlTools> {
    this.#kysely ??= import('kysely')
    const { MysqlAdapter, sql } = await this.#kysely
    const db = this.#database.tables<ClusterTables>(this.#connection)
    // Not the dialect of the database: that is the one of its default connection.
    const mysql = db.getExecutor().adapter instanceof MysqlAdapter
    const now = mysql
      ? sql<number>`(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`
      : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
    const minute = sql<number>`(${now} - ${now} % 60000)`
    return {
      db,
      names: this.#names,
      mysql,
      now,
      transaction: (statements) => this.#database.transaction(statements, this.#connection),
      minute,
      nowPlus: (ms) => sql<number>`(${now} + ${Math.round(ms)})`,
      field(column, name) {
        const value = sql<string>`json_extract(${sql.ref(column)}, ${`$.${name}`})`
        return mysql ? sql<string>`json_unquote(${value})` : value
      },
    }
  }
}
