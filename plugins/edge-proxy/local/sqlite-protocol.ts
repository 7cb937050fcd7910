import type { EdgeValue } from '../worker/d1.js'

/** A statement on its way to the process of its file. */
export interface SqliteStatement {
  readonly sql: string
  readonly values: readonly EdgeValue[]
}

/** What a statement gave. */
export interface SqliteResult {
  readonly names: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly changes: number
}

/** Statements for the process; it takes the next ones when it has responded. */
export interface SqliteRequest {
  readonly statements: readonly SqliteStatement[]
  /** All of them in one transaction that may write. */
  readonly atomic: boolean
}

export type ToSqlite = { readonly type: 'run'; readonly request: SqliteRequest } | { readonly type: 'close' }

export type FromSqlite =
  | { readonly type: 'ready' }
  /** The file cannot be opened. */
  | { readonly type: 'unusable'; readonly message: string }
  | { readonly type: 'results'; readonly results: readonly SqliteResult[] }
  /** The same as JSON, which takes half the time, but holds no blobs. */
  | { readonly type: 'json-results'; readonly json: string }
  /** In the words of D1. */
  | { readonly type: 'failed'; readonly message: string }
  /** The results have more than {@link maxResultBytes}; nothing was written. */
  | { readonly type: 'too-large' }

/**
 * Bytes of the results of a request, with 8 for each value. Four times those of a response: what is over it has no JSON that would fit.
 */
export const maxResultBytes = 16 * 1024 * 1024
