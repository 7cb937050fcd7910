import type { Column, Isolation, ResultMeta } from '../wire.js'
import type { Param } from './params.js'
import type { Int64Mode, JsonMode } from './rows.js'

export interface ProxyClientOptions {
  /** Base URL of the proxy, without `/svc/…`. It may have a path, but no user, password, query or fragment. */
  readonly url: string | URL
  /** `rdb`: the relational proxy at `/svc/rdb`. `edge`: the edge proxy at `/svc/edge`. */
  readonly proxy: 'rdb' | 'edge'
  /** With `secret`, every request is signed. Without both, none is, which only a relational proxy may allow. */
  readonly keyId?: string
  readonly secret?: string
  /** `registry` sends the SHA-256 of the SQL as the statement id, for a registry with `hashIds`. Default `sql`. */
  readonly mode?: 'sql' | 'registry'
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Additional headers of each request, such as those for a gateway in front of the proxy. Framing and signature headers are refused. */
  readonly headers?: Readonly<Record<string, string>>
  /** Deadline of a call including its retries, in ms; for a stream, of the wait for each row. Default 15,000. */
  readonly timeoutMs?: number
  /** Maximum number of retries of a call, 0 to 5. Default 2. Only reads and writes with an idempotency key are retried. */
  readonly retries?: number
  /** Maximum size of a response, in bytes; of a stream, of each line. Default 8 MiB. */
  readonly maxResponseBytes?: number
  /** Default `auto`. */
  readonly int64?: Int64Mode
  /** Default `text`. */
  readonly json?: JsonMode
  /** Default `x-sig-`. */
  readonly headerPrefix?: string
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Default: that of the client. The proxy stops the statement slightly earlier. */
  readonly timeoutMs?: number | undefined
}

export interface ReadOptions extends CallOptions {
  /** A result with more rows is refused with RESULT_TOO_LARGE. Default and maximum: the limit of the proxy. */
  readonly maxRows?: number | undefined
  /** `array` keeps columns with the same name. Default `object`. */
  readonly rowMode?: 'object' | 'array' | undefined
  /** How JSON columns are decoded. Default: that of the client. */
  readonly json?: JsonMode | undefined
}

export interface WriteOptions extends ReadOptions {
  /** A write with the same key runs only once, however often it is sent. `true` generates a key for this call, so that it can be retried. */
  readonly idempotencyKey?: string | true | undefined
}

export interface BatchCallOptions extends WriteOptions {
  /** `transaction` (default): all or nothing. `sequence`, relational proxy only: stops at the first error and keeps the statements before it. */
  readonly mode?: 'transaction' | 'sequence'
  readonly isolation?: Isolation
  readonly readOnly?: boolean
}

/** SQL with `?`, or a registered statement. */
export type Statement =
  | { readonly sql: string; readonly params?: readonly Param[] }
  | { readonly statementId: string; readonly params?: readonly Param[] }

/** A value of a result; its type depends on the column, see the README of sql-wire. */
export type Value = string | number | bigint | boolean | null | Uint8Array

/** Result of a statement. */
export interface Result<Row = Readonly<Record<string, Value>>> {
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  /** Rows returned by a read; rows matched or inserted by a write. */
  readonly rowCount: number
  /** Rows matched or inserted by a write; 0 for a read. */
  readonly changes: number
  /** Rows actually changed by a write; MySQL and MariaDB only. */
  readonly changedRows: number | undefined
  /** Id that the database generated for an inserted row. */
  readonly lastInsertId: bigint | undefined
  readonly meta: ResultMeta
}

/** One entry of the interface `Statements` that `zin proxy:statements types` generates. */
export interface StatementType {
  readonly kind: 'read' | 'write'
  readonly one: boolean
  readonly params: readonly unknown[]
  readonly row: unknown
}

export type StatementTypes<Statements> = { readonly [Id in keyof Statements]: StatementType }

export type AnyStatements = Readonly<
  Record<string, StatementType & { readonly params: readonly Param[]; readonly row: Readonly<Record<string, Value>> }>
>

/** Runs queries. Those of an interactive transaction see its writes. */
export interface Queries {
  /** Runs a read. Rejects with a ProxyError, or with the reason of the signal. */
  query<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): Promise<Result<Row>>
  /** Runs a read; resolves to its first row, if any. */
  queryOne<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): Promise<Row | undefined>
  /** Runs a write. It is never retried unless it has an idempotency key. */
  exec<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: WriteOptions): Promise<Result<Row>>
}

/** An interactive transaction. It holds a connection of the proxy until it ends. */
export interface ProxyTransaction extends Queries {
  /** False once it has ended, also by an error. */
  readonly open: boolean
  commit(options?: CallOptions): Promise<void>
  /** Rolls back; does nothing if it has ended. */
  rollback(options?: CallOptions): Promise<void>
}

/** The part of a client that the Kysely and drizzle adapters use. */
export interface SqlClient extends Queries {
  readonly proxy: 'rdb' | 'edge'
  /** Runs statements in one request, in order. By default all or nothing; a ProxyError has the index of the failed one in `details.failedIndex`. */
  batch(statements: readonly Statement[], options?: BatchCallOptions): Promise<readonly Result[]>
  /** Like `batch`, always all or nothing. */
  transaction(statements: readonly Statement[], options?: Omit<BatchCallOptions, 'mode'>): Promise<readonly Result[]>
  /** Yields the rows of a large read as they arrive, without a row limit; relational proxy only. Leaving the loop ends the query. */
  stream<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): AsyncIterableIterator<Row>
  /** Begins an interactive transaction. Only for relational proxies that allow it; otherwise use `transaction`. */
  begin(options?: CallOptions & { readonly isolation?: Isolation; readonly readOnly?: boolean }): Promise<ProxyTransaction>
}

/** A client of a SQL proxy. Its type argument is the interface `Statements` that `zin proxy:statements types` generates. */
export interface ProxyClient<Statements extends StatementTypes<Statements> = AnyStatements> extends SqlClient {
  /** Runs a registered statement. It may be a write, so it is retried only with an idempotency key. */
  statement<Id extends keyof Statements & string>(
    id: Id,
    params: Statements[Id]['params'],
    options?: WriteOptions,
  ): Promise<Result<Statements[Id]['row']>>
}
