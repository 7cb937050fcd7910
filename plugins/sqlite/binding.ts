import { createRequire } from 'node:module'
import type { PackageUse } from 'zin'

/** Decides about an action by its code and the names that `sqlite3_set_authorizer` gives for it. */
export type Refused = (action: number, name: string | null, value: string | null, schema: string | null) => boolean

/** The part of `node:sqlite` that is used here. */
export interface SqliteBinding {
  readonly DatabaseSync: new (path: string) => NativeDatabase
}

export interface NativeDatabase {
  readonly isTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): NativeStatement
  /** Node 24.10 and later, and the package. */
  setAuthorizer?(callback: ((...action: Parameters<Refused>) => number) | null): void
  close(): void
}

export interface NativeStatement {
  all(...values: readonly Bindable[]): readonly unknown[]
  run(...values: readonly Bindable[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  iterate(...values: readonly Bindable[]): Iterable<unknown>
  columns(): readonly { readonly name: string }[]
  setReadBigInts(on: boolean): void
  setReturnArrays(on: boolean): void
}

/** A value that every binding takes. */
export type Bindable = null | number | bigint | string | Uint8Array

/** A binding with the API of `node:sqlite`, for versions of Node without it. */
export const standIn = '@photostructure/sqlite'

/** The binding of this process, and whether it is the package. */
export interface LoadedBinding {
  readonly binding: SqliteBinding
  readonly isStandIn: boolean
}

/** Loads `node:sqlite` of Node 22.16 and later, and the package for older versions. Throws when there is neither. */
export function loadBinding(): LoadedBinding {
  const builtIn = builtInBinding()
  if (builtIn) return { binding: builtIn, isStandIn: false }
  try {
    return { binding: createRequire(import.meta.url)(standIn) as SqliteBinding, isStandIn: true }
  } catch (cause) {
    const why = `SQLite needs Node 22.16 or later, or the package ${standIn}, which cannot be loaded in Node ${process.version}`
    throw new Error(`${why}. Update Node, or install the package: npm install ${standIn}@1`, { cause })
  }
}

/** Returns undefined for the first versions of it, which cannot name the columns of a statement. */
export function builtInBinding(): SqliteBinding | undefined {
  const found = withoutWarning(() => process.getBuiltinModule('node:sqlite') as unknown)
  const { StatementSync } = (found ?? {}) as { readonly StatementSync?: { readonly prototype: Partial<NativeStatement> } }
  return StatementSync?.prototype.columns && StatementSync.prototype.setReturnArrays ? (found as SqliteBinding) : undefined
}

/** Node 22 warns each user of an app that `node:sqlite` is experimental. */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The package that stands in for `node:sqlite`: an entry of `packages` of a plugin that opens files if `uses` says so. */
export function standInUse<O, S>(uses: (app: { readonly options: O; readonly settings: S }) => boolean): PackageUse<O, S> {
  return {
    when: 'Node is older than 22.16 and a SQLite file is used',
    needed: (app) => uses(app) && builtInBinding() === undefined,
    get added() {
      return builtInBinding() === undefined
    },
  }
}
