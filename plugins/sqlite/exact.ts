import { tokensOf } from 'zin/plugins/sql-wire'
import type { Bindable } from './binding.js'

export interface ExactStatement {
  readonly sql: string
  readonly values: readonly Bindable[]
}

/** Below this, the package binds positive numbers as 0. */
const least = Number.EPSILON

/**
 * Makes the package bind numbers like `node:sqlite`, as REAL and exactly. It binds 32-bit integers as INTEGER, with which `7 / ?` differs, and
 * tiny positive numbers as 0; the SQL casts the ones and negates the others. Returns undefined if there is nothing to do.
 */
export function exactNumbers(sql: string, values: readonly Bindable[]): ExactStatement | undefined {
  const isSmallInteger = (value: Bindable | undefined): boolean => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31
  const isTiny = (value: Bindable | undefined): value is number => typeof value === 'number' && value > 0 && value < least
  if (!values.some((value) => isSmallInteger(value) || isTiny(value))) return undefined
  let text = ''
  let from = 0
  let last = 0
  for (const { kind, text: placeholder, at } of tokensOf(sql, 'sqlite').tokens) {
    if (kind !== 'placeholder') continue
    // A named placeholder has no value by position.
    if (!placeholder.startsWith('?')) return undefined
    const position = placeholder === '?' ? last + 1 : Number(placeholder.slice(1))
    last = Math.max(last, position)
    const value = values[position - 1]
    const exact = isSmallInteger(value) ? `(+CAST(${placeholder} AS REAL))` : isTiny(value) ? `(-${placeholder})` : placeholder
    text += sql.slice(from, at) + exact
    from = at + placeholder.length
  }
  return { sql: text + sql.slice(from), values: values.map((value) => (isTiny(value) ? -value : value)) }
}
