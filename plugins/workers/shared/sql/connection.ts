import type { Compilable, Kysely, QueryResult } from 'kysely'
import { messageOf } from 'zin'
import { type Database, type SqlTools, sqlTools } from 'zin/plugins/database'
import { workerErrors } from '../../errors.js'
import { type StateTables, type TableNames, tableNames } from './tables.js'

export interface StateStatement extends SqlTools {
  readonly db: Kysely<StateTables>
  readonly names: TableNames
  /** All or nothing, in order. */
  batch(queries: readonly Compilable[]): Promise<readonly QueryResult<unknown>[]>
}

/** Where the tables are. */
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

  /** Does the work; an unreachable database is WORKER_CLUSTER_UNAVAILABLE. */
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
