import { integerOf, timeText } from 'zin/plugins/sql-wire'
import type { Bindable } from './binding.js'

/** A value that cannot be stored as it is. */
export class SqliteValueError extends TypeError {
  override readonly name = 'SqliteValueError'
  readonly code = 'ERR_INVALID_ARG_VALUE'
  /** Number of the parameter, from 1. */
  readonly parameter: number
  /** What is wrong with it and what to do, without its content: `is a Date; pass …`. */
  readonly why: string
  /** Whether it is a text, which may come from a request. */
  readonly isText: boolean

  constructor(parameter: number, why: string, isText: boolean) {
    super(`Parameter ${parameter} ${why}`)
    this.parameter = parameter
    this.why = why
    this.isText = isText
  }
}

/**
 * Checks the values of a statement, because the bindings differ in what they do with others: they read an object as names of parameters,
 * bind an ArrayBuffer as NULL, or cut a text at its NUL. A boolean becomes 1 or 0, a Date its text in UTC, and a lone surrogate, in the binding,
 * U+FFFD.
 */
export function bindables(values: readonly unknown[]): readonly Bindable[] {
  return values.map(bindable)
}

function bindable(value: unknown, index: number): Bindable {
  const refused = (why: string, isText = false): SqliteValueError => new SqliteValueError(index + 1, why, isText)
  switch (typeof value) {
    case 'string':
      if (value.includes('\0')) throw refused('is a text with the character NUL, which SQLite may cut off. Remove it', true)
      return value
    case 'number':
      if (Number.isNaN(value)) throw refused('is NaN, which SQLite stores as NULL; pass null instead')
      return value
    case 'boolean':
      return value ? 1n : 0n
    case 'bigint':
      if (BigInt.asIntN(64, value) !== value) throw refused('is a bigint over 64 bits; pass it as a text')
      return value
    case 'object':
      if (value === null) return null
      if (value instanceof ArrayBuffer) return bytesOf(new Uint8Array(value))
      if (ArrayBuffer.isView(value)) return bytesOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
      if (value instanceof Date) {
        const text = timeText(value)
        if (text === undefined) throw refused('is not a valid Date of the years 0 to 9999')
        return text
      }
      throw refused(`is ${Array.isArray(value) ? 'an array' : 'an object'}; pass its values, or JSON.stringify it`)
    case 'undefined':
      throw refused('is undefined; pass a value or null')
    case 'function':
    case 'symbol':
      throw refused(`is a ${typeof value}; pass a text, a number, a bigint, a boolean, bytes or null`)
  }
}

/** Node 22 binds NULL for an empty array, unless it is a part of a buffer. */
function bytesOf(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? new Uint8Array(new ArrayBuffer(1), 0, 0) : bytes
}

/** Returns a value of a result: an integer as a number if that is exact and otherwise as a bigint, and a blob as a Uint8Array. */
export function resultValue(value: unknown): unknown {
  if (typeof value === 'bigint') return integerOf(value)
  // The binding of newer versions of Node returns -0 for a -0.0 that is not stored.
  return value === 0 ? 0 : value
}
