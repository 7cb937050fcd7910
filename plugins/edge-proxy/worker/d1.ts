/** The part of a D1 binding that the proxy uses: SQLite behind `prepare` and `batch`. */
export interface EdgeBinding {
  prepare(sql: string): EdgeStatement
  /** Runs all statements in one transaction, or none. */
  batch(statements: EdgeStatement[]): Promise<readonly EdgeResult[]>
}

export interface EdgeStatement {
  bind(...values: readonly EdgeValue[]): EdgeStatement
  raw(options: { readonly columnNames: true }): Promise<readonly (readonly unknown[])[]>
}

export interface EdgeResult {
  readonly results: readonly Readonly<Record<string, unknown>>[]
  readonly meta: { readonly changes?: number }
}

/** A value to bind. Numbers are always bound as REAL. */
export type EdgeValue = string | number | null | Uint8Array

export function isEdgeBinding(value: unknown): value is EdgeBinding {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return ['prepare', 'batch'].every((method) => typeof (value as Readonly<Record<string, unknown>>)[method] === 'function')
}
