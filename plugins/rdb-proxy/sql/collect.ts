import { type Column, type Encoding, type Row, type RowMode, WireError, type WireValue } from 'zin/plugins/sql-wire'
import { columnOf, type EncodeCell, encoderOf, type Field } from './columns.js'
import type { ResultSink } from './execute.js'

export interface RowOptions {
  readonly rowMode: RowMode
  readonly encoding: Encoding
  readonly maxRows: number
  readonly maxBytes: number
}

/** Encodes the rows of a result for the wire. */
export class RowEncoder {
  readonly columns: readonly Column[]
  readonly #encoders: readonly EncodeCell[]
  readonly #asArray: boolean
  readonly #hasProto: boolean
  /** Size of the values of the last row, in bytes. */
  bytes = 0

  /** Throws DUPLICATE_COLUMN, because an object can hold only one of two columns with the same name. */
  constructor(fields: readonly Field[], { rowMode, encoding }: Pick<RowOptions, 'rowMode' | 'encoding'>) {
    this.columns = fields.map(columnOf)
    this.#encoders = fields.map((field) => encoderOf(field, encoding))
    this.#asArray = rowMode === 'array'
    this.#hasProto = this.columns.some(({ name }) => name === '__proto__')
    if (this.#asArray) return
    const names = new Set<string>()
    for (const { name } of this.columns) {
      if (names.has(name))
        throw new WireError('DUPLICATE_COLUMN', `Two columns are named ${JSON.stringify(name)}; rename one, or request rows as arrays`, {
          details: { column: name, hint: 'options.rowMode "array"' },
        })
      names.add(name)
    }
  }

  encode(row: readonly unknown[]): Row {
    this.bytes = 0
    return this.#asArray ? row.map((value, at) => this.#cell(value, at)) : this.#objectOf(row)
  }

  #objectOf(row: readonly unknown[]): Row {
    const encoded: Record<string, WireValue> = {}
    for (let at = 0; at < row.length; at++) {
      const { name } = this.columns[at] as Column
      const value = this.#cell(row[at], at)
      if (this.#hasProto) Object.defineProperty(encoded, name, { value, enumerable: true })
      else encoded[name] = value
    }
    return encoded
  }

  #cell(value: unknown, at: number): WireValue {
    const encoded = value === null ? null : (this.#encoders[at] as EncodeCell)(value)
    this.bytes += sizeOf(encoded)
    return encoded
  }
}

function sizeOf(value: WireValue): number {
  if (typeof value === 'string') return value.length < 128 ? value.length + 2 : Buffer.byteLength(value) + 2
  return typeof value === 'number' ? 8 : 4
}

/** Collects a result; throws as soon as it has too many rows or bytes. */
export class Collector implements ResultSink {
  readonly #options: RowOptions
  readonly rows: Row[] = []
  /** Whether the result began to arrive. */
  started = false
  #encoder: RowEncoder | undefined
  #bytes = 0

  constructor(options: RowOptions) {
    this.#options = options
  }

  get columns(): readonly Column[] {
    return this.#encoder?.columns ?? []
  }

  get bytes(): number {
    return this.#bytes
  }

  fields(fields: readonly Field[]): void {
    this.started = true
    this.#encoder = new RowEncoder(fields, this.#options)
  }

  row(row: readonly unknown[]): void {
    const { maxRows, maxBytes } = this.#options
    const encoder = this.#encoder as RowEncoder
    if (this.rows.length >= maxRows) throw tooLarge('rows', maxRows)
    const encoded = encoder.encode(row)
    this.#bytes += encoder.bytes
    if (this.#bytes > maxBytes) throw tooLarge('bytes', maxBytes)
    this.rows.push(encoded)
  }
}

/** Returns the error for a result over a limit; results are never truncated. */
export function tooLarge(unit: 'rows' | 'bytes', limit: number): WireError {
  return new WireError('RESULT_TOO_LARGE', `The result has more than ${limit} ${unit}`, {
    details: { limit, unit, hint: 'Add LIMIT, or accept application/x-ndjson to stream it' },
  })
}
