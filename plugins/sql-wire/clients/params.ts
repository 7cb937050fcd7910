import { toBase64 } from '../base64.js'
import { timeText } from '../values.js'
import type { TaggedValue, WireParam } from '../wire.js'

/**
 * A value for a `?`. A `bigint` is exact up to 64 bits, for the relational proxy up to 65 digits, bytes become a blob, and a `Date` becomes its time in UTC, such as `2024-02-29
 * 23:59:59.123`. Types that JavaScript lacks are tagged: `{ $type: 'decimal', value: '0.10' }`, `{ $type: 'json', value }`.
 */
export type Param = string | number | boolean | bigint | null | Date | Uint8Array | ArrayBuffer | TaggedValue

/** Encodes parameters for the wire. Throws a TypeError with the index of an unsupported value. */
export function encodeParams(params: readonly unknown[], proxy: 'rdb' | 'edge'): readonly WireParam[] {
  return params.map((value, index) => {
    const encoded = encode(value, proxy)
    if (encoded === undefined)
      throw new TypeError(
        `Parameter ${index} is ${kindOf(value)}; pass a string, number, boolean, bigint, null, Date, bytes, or a value tagged with $type`,
      )
    return encoded
  })
}

function encode(value: unknown, proxy: 'rdb' | 'edge'): WireParam | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return encodeNumber(value, proxy)
  if (typeof value === 'bigint') return encodeInteger(value, proxy)
  return typeof value === 'object' ? encodeObject(value) : undefined
}

function encodeNumber(value: number, proxy: 'rdb' | 'edge'): WireParam {
  if (Object.is(value, -0)) return proxy === 'edge' ? { $type: 'real', value: '-0' } : 0
  // JSON cannot represent these exactly: parsers read 1e300 as an integer.
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return { $type: 'real', value: String(value) }
  return value
}

/** A DECIMAL has at most 65 digits; SQLite has none. */
const mostDecimal = 10n ** 65n

function encodeInteger(value: bigint, proxy: 'rdb' | 'edge'): WireParam | undefined {
  if (BigInt.asIntN(64, value) === value) return { $type: 'int64', value: value.toString() }
  if (BigInt.asUintN(64, value) === value) return { $type: 'uint64', value: value.toString() }
  return proxy === 'rdb' && value > -mostDecimal && value < mostDecimal ? { $type: 'decimal', value: value.toString() } : undefined
}

function encodeObject(value: object): WireParam | undefined {
  if (value instanceof Date) {
    const text = timeText(value)
    return text === undefined ? undefined : { $type: 'datetime', value: text }
  }
  if (value instanceof ArrayBuffer) return { $type: 'blob', base64: toBase64(new Uint8Array(value)) }
  if (ArrayBuffer.isView(value))
    return { $type: 'blob', base64: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) }
  // The proxy validates the rest.
  return '$type' in value && typeof value.$type === 'string' ? (value as TaggedValue) : undefined
}

function kindOf(value: unknown): string {
  if (typeof value === 'bigint') return 'an integer of too many digits'
  if (value instanceof Date) return 'an invalid Date'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `of type ${typeof value}`
}
