/** Bodies of requests and responses of both SQL proxies. Unknown fields of requests are refused with 400. */

/** A value without an exact JSON form. */
export type TaggedValue =
  | { readonly $type: 'int64' | 'uint64' | 'decimal'; readonly value: string }
  /** A date or time in the format of the database, such as `2024-02-29 23:59:59.123456`. */
  | { readonly $type: 'date' | 'time' | 'datetime' | 'timestamp'; readonly value: string }
  /** Standard base64 with padding. */
  | { readonly $type: 'blob'; readonly base64: string }
  /** Bound as its JSON text. */
  | { readonly $type: 'json'; readonly value: unknown }
  /** `Infinity`, `-Infinity` and `-0` (SQLite only; `NaN` is refused), or a finite number that is not a safe integer, such as `1e300`. */
  | { readonly $type: 'real'; readonly value: string }

/** A parameter. Numbers must be finite, and integers safe; everything else is tagged. */
export type WireParam = string | number | boolean | null | TaggedValue

export type RowMode = 'object' | 'array'

/** `typed`: 64-bit integers and decimals are strings. `plain`: they are numbers if that is exact. */
export type Encoding = 'typed' | 'plain'

export interface StatementOptions {
  /** Default `object`. `array` keeps columns with the same name. */
  readonly rowMode?: RowMode
  /** A result with more rows is refused; at most the limit of the server. */
  readonly maxRows?: number
  /** At most the limit of the server. */
  readonly timeoutMs?: number
  /** Default `typed`. */
  readonly encoding?: Encoding
  /** 1 to 128 printable ASCII characters. A write repeated with the same key runs only once. */
  readonly idempotencyKey?: string
}

/** Either SQL from the caller or the id of a registered statement. */
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
  /** Default `transaction`: all or nothing. `sequence` stops at the first error and keeps the statements before it. */
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

/** Body of `tx`, an interactive transaction. Each response contains the baton for the next request; a baton is valid once. */
export type TxRequest =
  | { readonly action: 'begin'; readonly options?: { readonly isolation?: Isolation; readonly readOnly?: boolean } }
  | (StatementRequest & { readonly action: 'query' | 'queryOne' | 'exec'; readonly baton: string })
  | { readonly action: 'commit' | 'rollback'; readonly baton: string }

/** `dynamic`: each value has its own type (SQLite); values are encoded like a {@link WireParam}. */
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

/** A column; its type determines how values are encoded, see the type table in the README. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly dbType?: string
  readonly nullable?: boolean
  readonly unsigned?: boolean
  readonly table?: string
}

/** A value of a result; `TaggedValue` only in `dynamic` columns. */
export type WireValue = string | number | boolean | null | TaggedValue

export type ObjectRow = Readonly<Record<string, WireValue>>
export type ArrayRow = readonly WireValue[]
export type Row = ObjectRow | ArrayRow

export interface ResultMeta {
  readonly requestId?: string
  /** Duration of the whole request on the server, in ms. */
  readonly durationMs?: number
  /** Time spent in the database, in ms. */
  readonly dbMs?: number
  readonly timezone?: string
  readonly rowsReturned?: number
  /** `queryOne`: there was more than one row. */
  readonly multiple?: boolean
  readonly changes?: number
  readonly changedRows?: number
  /** Same as `lastInsertId`. */
  readonly lastRowId?: string | null
  readonly warnings?: number
  /** Whether this is the response of an earlier request with the same idempotency key. */
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
  /** Decimal digits; null if none was generated. */
  readonly lastInsertId: string | null
  /** Rows returned by `RETURNING`. */
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
  /** Idle time after which it is rolled back, in ms. */
  readonly idleMs: number
  /** Time at which it is rolled back in any case, in ms since 1970. */
  readonly expiresAt: number
  /** Id of the process that holds it; any other process responds 421. */
  readonly instance: string
}

/** Response of `tx` to `begin`; the response to `commit` and `rollback` is `{ok, committed, meta}`. */
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
  /** Kind of the violated constraint: `unique`, `foreign_key`, `check`, `not_null`. */
  readonly kind?: string
  readonly constraint?: string
  /** Index of the parameter. */
  readonly index?: number
  /** Index of the failed statement in a batch. */
  readonly failedIndex?: number
  readonly limit?: number
  readonly rows?: number
  readonly bytes?: number
  readonly hint?: string
  /** Outcome of a statement that was interrupted: it did not take effect, or this is unknown. */
  readonly outcome?: 'cancelled' | 'unknown'
  readonly rolledBack?: boolean
  readonly [key: string]: unknown
}

/** Body of every error. */
export interface ErrorBody {
  readonly ok: false
  readonly code: string
  readonly message: string
  /** Title of the code. */
  readonly error: string
  readonly status: number
  readonly retryable: boolean
  /** Absent with 401. */
  readonly requestId?: string
  readonly details?: ErrorDetails
  /** Index of the failed statement in a batch. */
  readonly failedIndex?: number
  readonly committed?: false
  /** Results of a `sequence` before its error. */
  readonly results?: readonly StatementResult[]
}
