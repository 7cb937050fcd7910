import { fromBase64, type SqlToken, WireError, type WireParam } from 'zin/plugins/sql-wire'
import type { EdgeValue } from './d1.js'

/** SQL with numbered placeholders, cast where D1 would bind another type. */
export interface BoundSql {
  readonly sql: string
  readonly values: readonly EdgeValue[]
  /** Values for the original SQL, accurate enough to determine its column names. */
  readonly plain: readonly EdgeValue[]
}

interface Binding {
  readonly value: EdgeValue
  /** Type to cast the placeholder to; default: no cast. */
  readonly cast?: 'INTEGER' | 'REAL' | 'TEXT'
}

/**
 * Binds wire parameters. D1 binds every number and boolean as REAL and rounds integers beyond 2^53, so integers are bound as text and cast.
 * The unary plus removes the affinity of the cast, so that comparisons work as with a bound integer.
 *
 * @param tokens of the same SQL, which has no named placeholders.
 */
export function bindParams(sql: string, tokens: readonly SqlToken[], params: readonly WireParam[]): BoundSql {
  const bindings = params.map(bindingOf)
  let text = ''
  let from = 0
  let last = 0
  for (const { kind, text: placeholder, at } of tokens) {
    if (kind !== 'placeholder') continue
    const number = placeholder === '?' ? last + 1 : Number(placeholder.slice(1))
    last = Math.max(last, number)
    const cast = bindings[number - 1]?.cast
    text += sql.slice(from, at) + (cast === undefined ? `?${number}` : `(+CAST(?${number} AS ${cast}))`)
    from = at + placeholder.length
  }
  const plain = bindings.map(({ value, cast }) => (cast === 'INTEGER' || cast === 'REAL' ? Number(value) : value))
  return { sql: text + sql.slice(from), values: bindings.map(({ value }) => value), plain }
}

function bindingOf(param: WireParam, index: number): Binding {
  if (param === null) return { value: null }
  if (typeof param === 'string') return textOf(wellFormed(param, index))
  if (typeof param === 'boolean') return integer(param ? '1' : '0')
  if (typeof param === 'number') return Number.isInteger(param) ? integer(String(param)) : { value: param }
  switch (param.$type) {
    case 'int64':
      return integer(param.value)
    case 'uint64':
      if (BigInt(param.value) >= 2n ** 63n) throw refused(index, 'is too large for a SQLite integer, which is a signed 64-bit value')
      return integer(param.value)
    case 'real':
      return realOf(param.value, index)
    case 'blob':
      return { value: fromBase64(param.base64) }
    case 'json':
      return { value: JSON.stringify(param.value) }
    case 'decimal':
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
      // SQLite has no separate types for these.
      return { value: param.value }
  }
}

function integer(text: string): Binding {
  return { value: text, cast: 'INTEGER' }
}

/** Some bindings of SQLite cut a text at NUL. */
function textOf(text: string): Binding {
  return text.includes('\0') ? { value: new TextEncoder().encode(text), cast: 'TEXT' } : { value: text }
}

function realOf(text: string, index: number): Binding {
  if (text === 'NaN') throw refused(index, 'is NaN, which SQLite stores as NULL; pass null instead')
  if (text === '-0') return { value: '-0.0', cast: 'REAL' }
  const value = Number(text)
  return Number.isFinite(value) ? { value } : { value: value > 0 ? '9e999' : '-9e999', cast: 'REAL' }
}

function wellFormed(text: string, index: number): string {
  // A lone surrogate would become a replacement character.
  if (/\p{Surrogate}/u.test(text)) throw refused(index, 'contains a lone surrogate, which UTF-8 cannot encode')
  return text
}

function refused(index: number, why: string): WireError {
  return new WireError('INVALID_PARAM', `Parameter ${index} ${why}`, { details: { index } })
}
