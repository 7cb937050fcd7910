import { queueErrors } from '../errors.js'

/**
 * Encodes a value for the text protocol. Dates become ISO text, arrays become PostgreSQL arrays, other objects become JSON. Numbers become
 * whole ones, not smaller: all columns and parameters of the store are integers, for example of ms. Throws a RangeError for others.
 */
export function encodeValue(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return encodeArray(value)
  if (typeof value === 'object') return JSON.stringify(value)
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`The queue store cannot store the number ${value}`)
  const text = String(typeof value === 'number' ? Math.ceil(value) : value)
  // For example in an id from a URL path. PostgreSQL's own error would not show that the caller is at fault.
  if (text.includes('\0')) throw queueErrors.QUEUE_INVALID_TEXT()
  return text
}

function encodeArray(values: readonly unknown[]): string {
  const parts = values.map((value) => {
    if (value === null || value === undefined) return 'NULL'
    if (Array.isArray(value)) return encodeArray(value)
    const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(encodeValue(value))
    return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  })
  return `{${parts.join(',')}}`
}
