import type { Column, ColumnType, Encoding, WireValue } from 'zin/plugins/sql-wire'

/** Column metadata from the driver. */
export interface Field {
  readonly name: string
  readonly table: string
  readonly columnType: number
  readonly columnLength: number
  readonly flags: number
  readonly decimals: number
  readonly characterSet: number
  /** MariaDB: `json` for a JSON column, which is sent as LONGTEXT. */
  readonly extendedFormat?: string
}

const NOT_NULL = 1
const UNSIGNED = 32
const ENUM = 256
const SET = 2048
const BINARY = 63
export const VECTOR = 242
export const GEOMETRY = 255

/** Type codes of the protocol with fixed names: https://mariadb.com/kb/en/result-set-packets/ */
const simple: ReadonlyMap<number, readonly [ColumnType, string]> = new Map([
  [1, ['int32', 'TINYINT']],
  [2, ['int32', 'SMALLINT']],
  [3, ['int32', 'INT']],
  [9, ['int32', 'MEDIUMINT']],
  [13, ['int32', 'YEAR']],
  [4, ['float32', 'FLOAT']],
  [5, ['float64', 'DOUBLE']],
  [6, ['null', 'NULL']],
  [7, ['timestamp', 'TIMESTAMP']],
  [10, ['date', 'DATE']],
  [14, ['date', 'DATE']],
  [11, ['time', 'TIME']],
  [12, ['datetime', 'DATETIME']],
  [16, ['bit', 'BIT']],
  [VECTOR, ['blob', 'VECTOR']],
  [245, ['json', 'JSON']],
  [GEOMETRY, ['geometry', 'GEOMETRY']],
])

const decimals: ReadonlySet<number> = new Set([0, 246])

function typeOf(field: Field): readonly [ColumnType, string] {
  const { columnType, characterSet, flags } = field
  const unsigned = (flags & UNSIGNED) !== 0
  if (field.extendedFormat === 'json') return ['json', 'JSON']
  const known = simple.get(columnType)
  if (known !== undefined) return known
  if (columnType === 8) return [unsigned ? 'uint64' : 'int64', 'BIGINT']
  if (decimals.has(columnType)) {
    const digits = field.columnLength - (unsigned ? 0 : 1) - (field.decimals > 0 ? 1 : 0)
    return ['decimal', `DECIMAL(${digits},${field.decimals})`]
  }
  if ((flags & ENUM) !== 0) return ['text', 'ENUM']
  if ((flags & SET) !== 0) return ['text', 'SET']
  const long = columnType >= 249 && columnType <= 252
  const binary = characterSet === BINARY
  const name = long ? (binary ? 'BLOB' : 'TEXT') : binary ? 'BINARY' : 'CHAR'
  return [binary ? 'blob' : 'text', name]
}

/** Returns the wire description of a column. */
export function columnOf(field: Field): Column {
  const [type, dbType] = typeOf(field)
  const { name, table, flags } = field
  const nullable = (flags & NOT_NULL) === 0
  const unsigned = (flags & UNSIGNED) !== 0 && dbType !== 'YEAR'
  if (unsigned) return table === '' ? { name, type, dbType, nullable, unsigned } : { name, type, dbType, nullable, unsigned, table }
  return table === '' ? { name, type, dbType, nullable } : { name, type, dbType, nullable, table }
}

export type EncodeCell = (value: unknown) => WireValue

/** Returns a function that encodes the driver's values of a column for the wire. */
export function encoderOf(field: Field, encoding: Encoding): EncodeCell {
  const [type] = typeOf(field)
  switch (type) {
    case 'int64':
    case 'uint64':
      return encoding === 'plain' ? plainNumber : String
    case 'decimal':
      return encoding === 'plain' ? plainNumber : String
    case 'time':
    case 'datetime':
    case 'timestamp':
      // The driver drops trailing zeros of fractions; the database shows them.
      return field.decimals > 0 && field.decimals <= 6 ? (value) => withFraction(String(value), field.decimals) : String
    case 'date':
    case 'text':
    case 'json':
      return String
    case 'blob':
    case 'bit':
    case 'geometry':
      return (value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).toString('base64')
    case 'int32':
    case 'float32':
    case 'float64':
      return Number
    case 'null':
    case 'dynamic':
      return () => null
  }
}

function plainNumber(value: unknown): WireValue {
  const text = String(value)
  const number = Number(text)
  return String(number) === text && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text
}

function withFraction(text: string, digits: number): string {
  const [whole = '', fraction = ''] = text.split('.')
  return `${whole}.${fraction.padEnd(digits, '0')}`
}
