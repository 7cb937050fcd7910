import { timeText } from 'zin/plugins/sql-wire'
import { databaseErrors } from '../errors.js'

export interface Binding {
  readonly dialect: 'mysql' | 'sqlite'
  /** For messages. */
  readonly sql: string
  readonly where: string
}

/**
 * Returns the parameters of a statement as a driver or proxy takes them: text, numbers, bigints, booleans, null and Buffers. mysql2 would
 * write lists and objects as SQL, such as `name = value`, and a proxy would read an object as a tagged value, so that a value of another type
 * than expected could change what the statement means. Throws DATABASE_VALUE or DATABASE_NUMBER. A SQLite file has its own check.
 */
export function bindables(values: readonly unknown[], binding: Binding): unknown[] {
  return values.map((value, index) => bindable(value, index + 1, binding))
}

function bindable(value: unknown, parameter: number, { dialect, sql, where }: Binding): unknown {
  const refused = (why: string) => databaseErrors.DATABASE_VALUE(where, sql, { parameter, why })
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'bigint') {
    if (dialect === 'mysql' || BigInt.asIntN(64, value) === value) return value
    throw refused('is a bigint over 64 bits; pass it as a text')
  }
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    if (dialect === 'mysql') throw databaseErrors.DATABASE_NUMBER(where, parameter, value)
    if (!Number.isNaN(value)) return value
    throw refused('is NaN, which SQLite stores as NULL; pass null instead')
  }
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const time = value instanceof Date ? timeText(value) : undefined
  if (time !== undefined) return time
  throw refused(`is ${kindOf(value)}; pass text, a number, a boolean, bytes, a valid Date or null, and objects as JSON`)
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'an invalid Date, or one outside of the years 0 to 9999'
  return typeof value === 'object' ? 'an object' : typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`
}
