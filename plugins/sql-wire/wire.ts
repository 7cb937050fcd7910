/** Bodies of requests and responses of both SQL proxies. Unknown fields of requests are refused with 400. */

/** A value that JSON has no exact form for. */
export type TaggedValue =
  | { readonly $type: 'int64' | 'uint64' | 'decimal'; readonly value: string }
  /** A date or time as the database writes it, such as `2024-02-29 23:59:59.123456`. */
  | { readonly $type: 'date' | 'time' | 'datetime' | 'timestamp'; readonly value: string }
  /** Standard base64 with padding. */
  | { readonly $type: 'blob'; readonly base64: string }
  /** Bound as its JSON text. */
  | { readonly $type: 'json'; readonly value: unknown }
  /** `NaN`, `Infinity`, `-Infinity` and `-0` (SQLite only), or a finite number that is no safe integer, such as `1e300`. */
  | { readonly $type: 'real'; readonly value: string }

/** A parameter. Numbers are finite, and integers safe; everything else is tagged. */
export type WireParam = string | number | boolean | null | TaggedValue

export type RowMode = 'object' | 'array'

/** `typed` is exact: 64-bit integers and decimals are strings. `plain` gives numbers where they are exact. */
export type Encoding = 'typed' | 'plain'

export interface StatementOptions {
  /** Default `object`. `array` keeps columns of the same name. */
  readonly rowMode?: RowMode
  /** A result with more rows is refused; at most the limit of the server. */
  readonly maxRows?: number
  /** At most the limit of the server. */
  readonly timeoutMs?: number
  /** Default `typed`. */
  readonly encoding?: Encoding
  /** 1 to 128 printable ASCII characters. A write that is repeated with the same key runs once. */
  readonly idempotencyKey?: string
}

/** SQL of the caller, or the id of a registered statement; exactly one of the two. */
export type StatementSource =
  | { readonly sql: string; readonly statementId?: never }
  | { readonly statementId: string; readonly sql?: never }

/** Body of `query`, `queryOne`, `exec` and `statement`. */
export type StatementRequest = StatementSource & {
  /** Default: none. */
  readonly params?: readonly WireParam[]
  readonly options?: StatementOptions
}

export type Isolation = 'read uncommitted' | 'read committed' | 'repeatable read' | 'serializable'

export interface BatchOptions extends StatementOptions {
  /** Default `transaction`: all or nothing. `sequence` stops at the first error and keeps what ran before it. */
  readonly mode?: 'transaction' | 'sequence'
  readonly isolation?: Isolation
  readonly readOnly?: boolean
}

export type BatchStatement = StatementSource & {
  readonly params?: readonly WireParam[]
  /** The result is `row` instead of `rows`. */
  readonly one?: boolean
}

/** Body of `batch`. */
export interface BatchRequest {
  readonly statements: readonly BatchStatement[]
  readonly options?: BatchOptions
}

/** Body of `tx`, an interactive transaction. Each response carries the baton of the next request; a baton is good once. */
export type TxRequest =
  | { readonly action: 'begin'; readonly options?: { readonly isolation?: Isolation; readonly readOnly?: boolean } }
  | (StatementRequest & { readonly action: 'query' | 'queryOne' | 'exec'; readonly baton: string })
  | { readonly action: 'commit' | 'rollback'; readonly baton: string }

/** `dynamic`: the type of each value differs (SQLite); values are in the form of a {@link WireParam}. */
export type ColumnType =
  | 'int32'
  | 'int64'
  | 'uint64'
  | 'decimal'
  | 'float32'
  | 'float64'
  | 'date'
  | 'time'
  | 'datetime'
  | 'timestamp'
  | 'text'
  | 'blob'
  | 'bit'
  | 'geometry'
  | 'json'
  | 'null'
  | 'dynamic'

/** The column says how its values are written: see the type table in the README. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly dbType?: string
  readonly nullable?: boolean
  readonly unsigned?: boolean
  readonly table?: string
}

/** A value of a result; `TaggedValue` in `dynamic` columns only. */
export type WireValue = string | number | boolean | null | TaggedValue

export type ObjectRow = Readonly<Record<string, WireValue>>
export type ArrayRow = readonly WireValue[]
export type Row = ObjectRow | ArrayRow

export interface ResultMeta {
  readonly requestId?: string
  /** The whole request on the server, in ms. */
  readonly durationMs?: number
  /** Of which the database, in ms. */
  readonly dbMs?: number
  readonly timezone?: string
  readonly rowsReturned?: number
  /** `queryOne`: there was more than one row. */
  readonly multiple?: boolean
  readonly changes?: number
  readonly changedRows?: number
  /** As `lastInsertId`. */
  readonly lastRowId?: string | null
  readonly warnings?: number
  /** The response of an earlier request with the same idempotency key. */
  readonly replayed?: boolean
}

export interface QueryResult {
  readonly ok: true
  readonly rows: readonly Row[]
  readonly rowCount: number
  readonly columns: readonly Column[]
  readonly meta: ResultMeta
  readonly tx?: TxState
}

export interface OneResult {
  readonly ok: true
  readonly row: Row | null
  readonly columns: readonly Column[]
  readonly meta: ResultMeta
  readonly tx?: TxState
}

export interface ExecResult {
  readonly ok: true
  /** Rows that the statement matched or inserted. */
  readonly rowCount: number
  /** Decimal digits; null when none was made. */
  readonly lastInsertId: string | null
  /** Of `RETURNING`. */
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  readonly meta: ResultMeta
  readonly tx?: TxState
}

export type StatementResult = QueryResult | OneResult | ExecResult

export interface BatchResult {
  readonly ok: true
  readonly results: readonly StatementResult[]
  readonly committed: boolean
  readonly meta: ResultMeta
}

/** An open transaction. */
export interface TxState {
  readonly baton: string
  /** It is rolled back after this time without a request, in ms. */
  readonly idleMs: number
  /** When it is rolled back in any case, ms since 1970. */
  readonly expiresAt: number
  /** The process that holds it; another one answers 421. */
  readonly instance: string
}

/** Response of `tx` with `begin`; `commit` and `rollback` answer `{ok, committed, meta}`. */
export interface TxBegun {
  readonly ok: true
  readonly tx: TxState
  readonly meta: ResultMeta
}

/** Lines of `application/x-ndjson`: one head, rows, one end or error. */
export type StreamLine =
  | { readonly type: 'head'; readonly columns: readonly Column[] }
  | { readonly type: 'row'; readonly row: Row }
  | { readonly type: 'end'; readonly rowCount: number; readonly meta: ResultMeta }
  | { readonly type: 'error'; readonly error: ErrorBody }

export interface ErrorDetails {
  readonly sqlState?: string
  readonly errno?: number
  /** Of a violated constraint: `unique`, `foreign_key`, `check`, `not_null`. */
  readonly kind?: string
  readonly constraint?: string
  /** Index of the parameter. */
  readonly index?: number
  /** Index of the statement of a batch. */
  readonly failedIndex?: number
  readonly limit?: number
  readonly rows?: number
  readonly bytes?: number
  readonly hint?: string
  /** What is known of a statement that ran too long. */
  readonly outcome?: 'cancelled' | 'unknown'
  readonly rolledBack?: boolean
  readonly [key: string]: unknown
}

/** Body of every error. */
export interface ErrorBody {
  readonly ok: false
  readonly code: string
  readonly message: string
  /** Short text of the code. */
  readonly error: string
  readonly status: number
  readonly retryable: boolean
  /** Absent with 401. */
  readonly requestId?: string
  readonly details?: ErrorDetails
  /** Of a failed batch. */
  readonly failedIndex?: number
  readonly committed?: false
  /** What a `sequence` did before its error. */
  readonly results?: readonly StatementResult[]
}
