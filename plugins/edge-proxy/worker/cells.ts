import { toBase64, type WireValue } from 'zin/plugins/sql-wire'

/**
 * D1 returns values as JSON: integers beyond 2^53 are rounded, infinities become null. Such values are selected as text with this prefix;
 * text that starts with it, or contains NUL, is selected in hex with the prefix.
 */
const mark = '\u0001'

/** Returns SQL that selects a column so that {@link cellOf} can restore the exact value. */
export function exactCell(column: string): string {
  return `CASE typeof(${column}) WHEN 'integer' THEN CASE WHEN ${column} BETWEEN -9007199254740991 AND 9007199254740991 THEN ${column} ELSE char(1)||'i'||${column} END WHEN 'real' THEN CASE WHEN ${column} > 1.7976931348623157e308 THEN char(1)||'+' WHEN ${column} < -1.7976931348623157e308 THEN char(1)||'-' ELSE ${column} END WHEN 'text' THEN CASE WHEN unicode(${column}) = 1 OR instr(${column}, char(0)) > 0 THEN char(1)||'x'||hex(${column}) ELSE ${column} END ELSE ${column} END`
}

/** Returns the value of a cell that was selected with {@link exactCell}. */
export function cellOf(value: unknown): WireValue {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  // A SQLite file gives the integer that D1 would round.
  if (typeof value === 'bigint') return { $type: 'int64', value: String(value) }
  if (typeof value === 'string') return value.startsWith(mark) ? marked(value[1], value.slice(2)) : value
  return { $type: 'blob', base64: toBase64(bytesOf(value)) }
}

function marked(kind: string | undefined, text: string): WireValue {
  if (kind === 'i') return { $type: 'int64', value: text }
  if (kind === 'x') return new TextDecoder('utf-8', { ignoreBOM: true }).decode(fromHex(text))
  return { $type: 'real', value: kind === '+' ? 'Infinity' : '-Infinity' }
}

/** D1 returns blobs as arrays of numbers or as buffers. */
function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(value as ArrayBuffer | readonly number[])
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}
