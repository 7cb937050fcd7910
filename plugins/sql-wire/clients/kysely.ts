import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult, TransactionSettings } from 'kysely'
import { scanSql } from '../sql-text.js'
import type { SqlDialect } from '../tokens.js'
import type { CallOptions, ProxyTransaction, Queries, Result, SqlClient } from './contract.js'
import { edgeIntrospector } from './edge-introspector.js'
import { localError } from './proxy-error.js'

/** A dialect class of Kysely: `MysqlDialect` or `SqliteDialect`. */
// biome-ignore lint/suspicious/noExplicitAny: its configuration is not used
export type DialectClass<D extends Dialect> = new (config: any) => D

/**
 * Connects Kysely to the relational proxy. Pass your own copy of `MysqlDialect`: nothing else of Kysely is imported. Transactions are
 * interactive, which the proxy must allow; `client.transaction` always works.
 *
 * @example
 * import { Kysely, MysqlDialect } from 'kysely'
 * import { createProxyClient } from 'zin/clients'
 * const client = createProxyClient({ url: 'http://127.0.0.1:8789', proxy: 'rdb', keyId: 'shop', secret })
 * const db = new Kysely<{ users: { id: string } }>({ dialect: kyselyMysql(client, MysqlDialect) })
 */
export function kyselyMysql<D extends Dialect>(client: SqlClient, MysqlDialect: DialectClass<D>, options?: CallOptions): Dialect {
  return dialectOf(client, new MysqlDialect({ pool: {} }), 'mysql', options)
}

/**
 * Connects Kysely to the edge proxy. Pass your own copy of `SqliteDialect`. Interactive transactions are not supported: `transaction()` is
 * refused with TX_NOT_SUPPORTED; use `client.transaction` with compiled queries.
 *
 * @example
 * import { Kysely, SqliteDialect } from 'kysely'
 * import { createProxyClient } from 'zin/clients'
 * const client = createProxyClient({ url: 'http://127.0.0.1:8789', proxy: 'edge', keyId: 'shop', secret })
 * const db = new Kysely<{ users: { id: string } }>({ dialect: kyselySqlite(client, SqliteDialect) })
 * const queries = [db.insertInto('users').values({ id: 'a' }), db.deleteFrom('users').where('id', '=', 'b')]
 * await client.transaction(queries.map((query) => kyselyStatement(query.compile())))
 */
export function kyselySqlite<D extends Dialect>(client: SqlClient, SqliteDialect: DialectClass<D>, options?: CallOptions): Dialect {
  return {
    ...dialectOf(client, new SqliteDialect({ database: {} }), 'sqlite', options),
    createIntrospector: () => edgeIntrospector(client),
  }
}

/** Converts a compiled query to a statement for `client.batch` or `client.transaction`. */
export function kyselyStatement({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>) {
  return { sql, params: parameters as readonly never[] }
}

/** Converts a result to the form that Kysely expects. */
export function kyselyResult<Row>({ rows, changes, changedRows, lastInsertId }: Result<Row>, read: boolean): QueryResult<Row> {
  if (read) return { rows: [...rows] }
  return {
    rows: [...rows],
    numAffectedRows: BigInt(changes),
    ...(changedRows === undefined ? {} : { numChangedRows: BigInt(changedRows) }),
    // 0 means that no id was generated.
    ...(lastInsertId ? { insertId: lastInsertId } : {}),
  }
}

function dialectOf(client: SqlClient, base: Dialect, sqlDialect: SqlDialect, options: CallOptions | undefined): Dialect {
  return {
    createAdapter: () => base.createAdapter(),
    createIntrospector: (db) => base.createIntrospector(db),
    createQueryCompiler: () => base.createQueryCompiler(),
    createDriver: () => new ProxyDriver(client, sqlDialect, options),
  }
}

/** Connections cost nothing: each is a handle that holds at most one transaction. */
class ProxyDriver implements Driver {
  readonly #client: SqlClient
  readonly #dialect: SqlDialect
  readonly #options: CallOptions | undefined

  constructor(client: SqlClient, dialect: SqlDialect, options: CallOptions | undefined) {
    this.#client = client
    this.#dialect = dialect
    this.#options = options
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return new ProxyConnection(this.#client, this.#dialect, this.#options)
  }

  async beginTransaction(connection: DatabaseConnection, { isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    if (isolationLevel === 'snapshot') throw new TypeError('MySQL does not support the isolation level "snapshot"')
    await (connection as ProxyConnection).begin({
      ...(isolationLevel === undefined ? {} : { isolation: isolationLevel }),
      ...(accessMode === undefined ? {} : { readOnly: accessMode === 'read only' }),
    })
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as ProxyConnection).commit()
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as ProxyConnection).rollback()
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return (connection as ProxyConnection).rollback()
  }

  async destroy(): Promise<void> {}
}

class ProxyConnection implements DatabaseConnection {
  readonly #client: SqlClient
  readonly #dialect: SqlDialect
  readonly #options: CallOptions | undefined
  #transaction: ProxyTransaction | undefined

  constructor(client: SqlClient, dialect: SqlDialect, options: CallOptions | undefined) {
    this.#client = client
    this.#dialect = dialect
    this.#options = options
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const on: Queries = this.#transaction ?? this.#client
    const { kind } = scanSql(sql, this.#dialect)
    const read = kind === 'read' || kind === 'pragma'
    return kyselyResult(await on[read ? 'query' : 'exec']<Row>(sql, parameters as readonly never[], this.#options), read)
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    if (this.#transaction !== undefined)
      throw localError('TX_NOT_SUPPORTED', 'Streaming is not supported inside a transaction; execute the query instead')
    for await (const row of this.#client.stream<Row>(sql, parameters as readonly never[], this.#options)) yield { rows: [row] }
  }

  async begin(settings: Parameters<SqlClient['begin']>[0]): Promise<void> {
    this.#transaction = await this.#client.begin({ ...this.#options, ...settings })
  }

  async commit(): Promise<void> {
    await this.#transaction?.commit(this.#options)
    this.#transaction = undefined
  }

  async rollback(): Promise<void> {
    const open = this.#transaction
    this.#transaction = undefined
    await open?.rollback(this.#options)
  }
}
