import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from './column-types.js'

/** A value that not every database can store. */
export interface OddValue {
  readonly name: string
  readonly value: unknown
  readonly column: Readonly<Record<Dialect, string>>
}

const both = (type: string): OddValue['column'] => ({ sqlite: type, mysql: type })
const text = both('varchar(100)')
const double = both('double precision')
const integer: OddValue['column'] = { sqlite: 'bigint', mysql: 'bigint unsigned' }
const time = both('datetime(3)')

export const oddValues: readonly OddValue[] = [
  { name: 'a text with the character NUL', value: 'a\0b', column: text },
  { name: 'a text with a lone surrogate', value: 'a\ud800b', column: text },
  { name: 'an integer from 2^63', value: 2n ** 63n, column: integer },
  { name: 'an integer from 2^64', value: 2n ** 64n, column: integer },
  { name: '`-0`', value: -0, column: double },
  { name: '`Infinity`', value: Number.POSITIVE_INFINITY, column: double },
  { name: '`NaN`', value: Number.NaN, column: double },
  { name: 'an object', value: { a: 1 }, column: text },
  { name: 'an object that a proxy reads as a value', value: { $type: 'int64', value: '1' }, column: text },
  { name: 'a list', value: ['a'], column: text },
  { name: 'an invalid Date', value: new Date(Number.NaN), column: time },
  { name: 'a Date after the year 9999', value: new Date(Date.UTC(10_000, 0)), column: time },
]

/** What happens to a value, in the words of the table. @param store writes it and resolves to what is read. */
export async function outcomeOf(value: unknown, store: () => Promise<unknown>): Promise<string> {
  try {
    const read = await store()
    return isDeepStrictEqual(read, value) ? 'kept' : `read as \`${String(JSON.stringify(read)).replaceAll('\ufffd', 'U+FFFD')}\``
  } catch (error) {
    const { code, status, name } = error as { readonly code?: string; readonly status?: number; readonly name: string }
    return `\`${code ?? name}\`${status === undefined ? '' : `, ${status}`}`
  }
}
