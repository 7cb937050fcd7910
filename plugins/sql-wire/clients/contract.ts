import type { Column, Isolation, ResultMeta } from '../wire.js'
import type { Param } from './params.js'
import type { Int64Mode, JsonMode } from './rows.js'

export interface ProxyClientOptions {
  /** Base URL of the proxy, without `/svc/…`. It may have a path, and no user, password or query. */
  readonly url: string | URL
  /** `rdb`: the relational proxy below `/svc/rdb`. `edge`: the edge proxy below `/svc/edge`. */
  readonly proxy: 'rdb' | 'edge'
  /** With `secret`: every request is signed. Without both: none is, which a relational proxy may allow. */
  readonly keyId?: string
  readonly secret?: string
  /** `registry` sends the SHA-256 of the SQL as its id, for a registry with `hashIds`. Default `sql`. */
  readonly mode?: 'sql' | 'registry'
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with each request, such as those of a gateway in front of the proxy. Names that frame or sign a request are refused. */
  readonly headers?: Readonly<Record<string, string>>
  /** Of a call with its retries, in ms; of a stream, of the wait for each row. Default 15,000. */
  readonly timeoutMs?: number
  /** Most retries of a call, 0 to 5. Default 2. Reads are repeated, and writes with an idempotency key. */
  readonly retries?: number
  /** A longer response is refused. Default 8 MiB. */
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
  /** A result with more rows is refused with RESULT_TOO_LARGE. At most, and by default, the limit of the proxy. */
  readonly maxRows?: number | undefined
  /** `array` keeps columns of the same name. Default `object`. */
  readonly rowMode?: 'object' | 'array' | undefined
}

export interface WriteOptions extends ReadOptions {
  /** A write with the same key runs once, however often it is sent. `true` makes one for this call, so that it may be repeated. */
  readonly idempotencyKey?: string | true | undefined
}

export interface BatchCallOptions extends WriteOptions {
  /** `transaction` (default): all or nothing. `sequence`, relational proxy only: stops at the first error, and keeps what ran before. */
  readonly mode?: 'transaction' | 'sequence'
  readonly isolation?: Isolation
  readonly readOnly?: boolean
}

/** SQL with `?`, or a registered statement. */
export type Statement =
  | { readonly sql: string; readonly params?: readonly Param[] }
  | { readonly statementId: string; readonly params?: readonly Param[] }

/** A value of a result, by its column: see the README of sql-wire. */
export type Value = string | number | bigint | boolean | null | Uint8Array

/** What a statement did. */
export interface Result<Row = Readonly<Record<string, Value>>> {
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  /** Rows of a read; rows that a write matched or inserted. */
  readonly rowCount: number
  /** Rows that a write matched or inserted; 0 of a read. */
  readonly changes: number
  /** Of which really changed; MySQL and MariaDB only. */
  readonly changedRows: number | undefined
  /** The number that the database gave an inserted row. */
  readonly lastInsertId: bigint | undefined
  readonly meta: ResultMeta
}

/** One entry of the interface `Statements` that `zin proxy:statements types` writes. */
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

/** Queries that run on one connection; those of an interactive transaction see its writes. */
export interface Queries {
  /** A read. Rejects with a ProxyError, or with the reason of the signal. */
  query<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): Promise<Result<Row>>
  /** The first row of a read, if any. */
  queryOne<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): Promise<Row | undefined>
  /** A write. It is never sent twice unless it has an idempotency key. */
  exec<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: WriteOptions): Promise<Result<Row>>
}

/** An interactive transaction: a connection of the proxy is held until it ends. */
export interface ProxyTransaction extends Queries {
  /** False after its end, and after an error that ended it. */
  readonly open: boolean
  commit(options?: CallOptions): Promise<void>
  /** Does nothing when it has ended. */
  rollback(options?: CallOptions): Promise<void>
}

/** What Kysely and drizzle need of a client. */
export interface SqlClient extends Queries {
  readonly proxy: 'rdb' | 'edge'
  /** Statements in one request, in order. By default all or nothing; a ProxyError has the index of the failed one as `details.failedIndex`. */
  batch(statements: readonly Statement[], options?: BatchCallOptions): Promise<readonly Result[]>
  /** As `batch`, always all or nothing. */
  transaction(statements: readonly Statement[], options?: Omit<BatchCallOptions, 'mode'>): Promise<readonly Result[]>
  /** Rows of a large read as they arrive, without a limit of their number; relational proxy only. Ending the loop ends the query. */
  stream<Row = Readonly<Record<string, Value>>>(sql: string, params?: readonly Param[], options?: ReadOptions): AsyncIterableIterator<Row>
  /** Begins an interactive transaction. Relational proxies that allow it only; otherwise use `transaction`. */
  begin(options?: CallOptions & { readonly isolation?: Isolation; readonly readOnly?: boolean }): Promise<ProxyTransaction>
}

/** Type argument: the interface `Statements` that `zin proxy:statements types` writes. */
export interface ProxyClient<Statements extends StatementTypes<Statements> = AnyStatements> extends SqlClient {
  /** A registered statement. The registry decides whether it writes, so it is sent again only with an idempotency key. */
  statement<Id extends keyof Statements & string>(
    id: Id,
    params: Statements[Id]['params'],
    options?: WriteOptions,
  ): Promise<Result<Statements[Id]['row']>>
}
