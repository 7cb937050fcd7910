import type { EdgeValue } from '../worker/d1.js'

/** A statement for the database process. */
export interface SqliteStatement {
  readonly sql: string
  readonly values: readonly EdgeValue[]
}

/** Result of a statement. */
export interface SqliteResult {
  readonly names: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly changes: number
}

/** Statements for the database process, which handles one request at a time. */
export interface SqliteRequest {
  readonly statements: readonly SqliteStatement[]
  /** Whether to run them in one transaction that may write. */
  readonly atomic: boolean
}

export type ToSqlite = { readonly type: 'run'; readonly request: SqliteRequest } | { readonly type: 'close' }

export type FromSqlite =
  | { readonly type: 'ready' }
  /** The file cannot be opened. */
  | { readonly type: 'unusable'; readonly message: string }
  | { readonly type: 'results'; readonly results: readonly SqliteResult[] }
  /** The same as JSON, which takes half the time but cannot hold blobs and bigints. */
  | { readonly type: 'json-results'; readonly json: string }
  /** Message like those of D1. */
  | { readonly type: 'failed'; readonly message: string }
  /** The results exceed {@link maxResultBytes}; nothing was written. */
  | { readonly type: 'too-large' }

/**
 * Maximum size of the results of a request in bytes, counting 8 extra bytes for each value. Four times the limit of a response: no result
 * above it fits into a response as JSON.
 */
export const maxResultBytes = 16 * 1024 * 1024
