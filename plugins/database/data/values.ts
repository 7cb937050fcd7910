import type { Column } from './columns.js'

/**
 * A value of a row in JSON. What JSON cannot hold is an object with one key: `{"int":"9007199254740993"}`, `{"bytes":"<base64>"}`,
 * `{"number":"Infinity"}`.
 */
export function encodeValue(value: unknown): unknown {
  if (typeof value === 'bigint') return { int: String(value) }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
    return { number: Object.is(value, -0) ? '-0' : String(value) }
  return value
}

const numbers: Readonly<Record<string, number>> = {
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-0': -0,
}

/** The value again. Throws an error that says what is wrong, to follow the name of the column. */
export function decodeValue(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (typeof value === 'object' && !Array.isArray(value)) {
    const [[key, text] = [], ...more] = Object.entries(value)
    if (more.length === 0 && typeof text === 'string') {
      if (key === 'int' && /^-?\d{1,20}$/.test(text)) return BigInt(text)
      if (key === 'bytes' && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0) return Buffer.from(text, 'base64')
      if (key === 'number' && text in numbers) return numbers[text]
    }
  }
  throw new Error('is neither null, a text, a number, {"int"}, {"bytes"} nor {"number"}')
}

const ranges: Readonly<Record<string, number>> = { tinyint: 8, smallint: 16, mediumint: 24, int: 32, integer: 32, bigint: 64 }

/** Why a value cannot be that of a column, to follow its name; undefined if it can. The text of a message contains nothing of the value. */
export function valueFault(value: unknown, column: Column, mysql: boolean): string | undefined {
  const { length, nullable, type } = column
  if (value === null) return nullable ? undefined : 'is null'
  if (/int|^year|serial/.test(type) && !/point/.test(type)) return mysql ? integerFault(value, column) : integral(value)
  if (/^(real|double|float)/.test(type)) return typeof value === 'number' || typeof value === 'bigint' ? undefined : 'is not a number'
  if (/^(decimal|numeric)/.test(type)) return isDecimal(value) ? undefined : 'is not a decimal'
  if (/char|text|clob|enum|uuid|^set$/.test(type)) {
    if (typeof value !== 'string') return `is ${kindOf(value)} instead of a text`
    if (value.includes('\0')) return 'contains the character NUL'
    const counted = /char/.test(type) ? Array.from(value).length : Buffer.byteLength(value)
    return length !== undefined && counted > length ? `has ${counted} instead of at most ${length} characters or bytes` : undefined
  }
  if (/blob|binary|bytea|^bit$|point|geometry|polygon|linestring/.test(type)) {
    if (!(value instanceof Uint8Array)) return `is ${kindOf(value)} instead of bytes`
    return length !== undefined && value.length > length ? `has ${value.length} instead of at most ${length} bytes` : undefined
  }
  if (/^(date|time|datetime|timestamp)$/.test(type)) {
    const isTime = typeof value === 'string' && (!mysql || /^[-\d][\d:. T-]{3,30}$/.test(value))
    return isTime ? undefined : `is ${kindOf(value)} instead of a date or time as text`
  }
  return undefined
}

function integral(value: unknown): string | undefined {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? undefined : 'has more than 64 bits'
  return typeof value === 'number' && Number.isInteger(value) ? undefined : `is ${kindOf(value)} instead of an integer`
}

function integerFault(value: unknown, { type, unsigned }: Column): string | undefined {
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value)))
    return `is ${kindOf(value)} instead of an integer`
  const bits = BigInt(ranges[type] ?? 64)
  const [least, most] = unsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
  return BigInt(value) < least || BigInt(value) > most ? `is outside of ${least} to ${most}` : undefined
}

function isDecimal(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value))
}

function kindOf(value: unknown): string {
  if (value instanceof Uint8Array) return 'bytes'
  return typeof value === 'string' ? 'a text' : typeof value === 'number' ? 'a number' : `a ${typeof value}`
}
