import type { Compilable, Kysely, QueryResult } from 'kysely'
import { messageOf } from 'zin'
import { type Database, type SqlTools, sqlTools } from 'zin/plugins/database'
import { workerErrors } from '../../errors.js'
import { type StateTables, type TableNames, tableNames } from './tables.js'

export interface StateStatement extends SqlTools {
  readonly db: Kysely<StateTables>
  readonly names: TableNames
  /** Runs the queries in order, in one transaction. */
  batch(queries: readonly Compilable[]): Promise<readonly QueryResult<unknown>[]>
}

/** The database connection with the tables. */
export class StateConnection {
  readonly #database: Database
  readonly #connection: string
  readonly #names: TableNames
  #tools: Promise<SqlTools> | undefined

  constructor(database: Database, connection: string, prefix: string) {
    this.#database = database
    this.#connection = connection
    this.#names = tableNames(prefix)
  }

  /** Runs work; throws WORKER_CLUSTER_UNAVAILABLE if the database is unreachable. */
  async run<T>(work: (statement: StateStatement) => Promise<T>): Promise<T> {
    try {
      const db = this.#database.tables<StateTables>(this.#connection)
      this.#tools ??= sqlTools(db)
      return await work({
        db,
        names: this.#names,
        batch: (queries) => this.#database.batch(queries, this.#connection),
        ...(await this.#tools),
      })
    } catch (error) {
      throw this.#database.isUnavailable(error) ? workerErrors.WORKER_CLUSTER_UNAVAILABLE('the database', messageOf(error)) : error
    }
  }

  isUnavailable(error: unknown): boolean {
    return (error instanceof Error && 'code' in error && error.code === 'WORKER_CLUSTER_UNAVAILABLE') || this.#database.isUnavailable(error)
  }
}
