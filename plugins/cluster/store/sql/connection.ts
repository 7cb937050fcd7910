import type { Kysely } from 'kysely'
import { messageOf } from 'zin'
import { type Database, type SqlTools, sqlTools } from 'zin/plugins/database'
import { clusterErrors } from '../../errors.js'
import type { ClusterTables } from './tables.js'

export interface SqlStatement extends SqlTools {
  readonly db: Kysely<ClusterTables>
}

/** The tables of one cluster. */
export class SqlConnection {
  /** Name of the cluster. */
  readonly cluster: string
  readonly #database: Database
  #tools: Promise<SqlTools> | undefined

  constructor(database: Database, cluster: string) {
    this.#database = database
    this.cluster = cluster
  }

  /** Runs `work`; an unreachable database becomes CLUSTER_UNAVAILABLE. */
  async run<T>(work: (statement: SqlStatement) => Promise<T>): Promise<T> {
    try {
      const db = this.#database.tables<ClusterTables>()
      this.#tools ??= sqlTools(db)
      return await work({ db, ...(await this.#tools) })
    } catch (error) {
      throw this.#database.isUnavailable(error) ? clusterErrors.CLUSTER_UNAVAILABLE('the database', messageOf(error)) : error
    }
  }

  /** Inserts a row unless its key exists; true when inserted. */
  insertIfAbsent(table: keyof ClusterTables, key: readonly string[], row: Readonly<Record<string, unknown>>): Promise<boolean> {
    return this.run(() => this.#database.insertIfAbsent(table, key, row))
  }

  isUnavailable(error: unknown): boolean {
    return this.#database.isUnavailable(error)
  }
}
