import { fromBase64 } from '../base64.js'
import { integerOf } from '../values.js'
import type { Column, TaggedValue } from '../wire.js'

/** How 64-bit integers are decoded. `auto`: a number if it is a safe integer, otherwise a bigint. */
export type Int64Mode = 'auto' | 'bigint' | 'string'

/** How JSON columns are decoded: exact text, or parsed, which rounds large numbers. */
export type JsonMode = 'text' | 'parse'

export interface DecodeOptions {
  readonly int64: Int64Mode
  readonly json: JsonMode
}

/** Returns the options of a call, which default to those of its client. */
export function decodeOptions(client: DecodeOptions, { json = client.json }: { readonly json?: JsonMode | undefined }): DecodeOptions {
  return { ...client, json }
}

type Decode = (value: unknown) => unknown

/** Decodes rows in place according to their columns; rows are objects or arrays. */
export function decodeRows(rows: readonly unknown[], columns: readonly Column[], options: DecodeOptions): void {
  const decoders = columns.flatMap(({ name, type }, index) => {
    const decode = decoderOf(type, options)
    return decode === undefined ? [] : [{ name, index, decode }]
  })
  if (decoders.length === 0) return
  for (const row of rows) {
    if (typeof row !== 'object' || row === null) continue
    const values = row as Record<string | number, unknown>
    const isArray = Array.isArray(row)
    for (const { name, index, decode } of decoders) {
      const key = isArray ? index : name
      // Only own keys, so that no prototype setter is called.
      if (Object.hasOwn(values, key) && values[key] !== null) values[key] = decode(values[key])
    }
  }
}

function decoderOf(type: Column['type'], options: DecodeOptions): Decode | undefined {
  if (type === 'int64' || type === 'uint64') return (value) => (typeof value === 'string' ? int64Of(value, options.int64) : value)
  if (type === 'blob' || type === 'bit' || type === 'geometry') return (value) => (typeof value === 'string' ? fromBase64(value) : value)
  if (type === 'json' && options.json === 'parse') return (value) => (typeof value === 'string' ? JSON.parse(value) : value)
  if (type === 'dynamic') return (value) => (typeof value === 'object' ? decodeTagged(value as TaggedValue, options) : value)
  return undefined
}

function decodeTagged(tagged: TaggedValue, options: DecodeOptions): unknown {
  if (tagged.$type === 'int64' || tagged.$type === 'uint64') return int64Of(tagged.value, options.int64)
  if (tagged.$type === 'blob') return fromBase64(tagged.base64)
  return tagged.$type === 'real' ? Number(tagged.value) : tagged.value
}

function int64Of(text: string, mode: Int64Mode): bigint | number | string {
  if (mode === 'string') return text
  return mode === 'auto' ? integerOf(text) : BigInt(text)
}
