import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const readme = join(import.meta.dirname, '..', 'README.md')
const begin = '<!-- types: written by TYPES_TABLE=write npm test -- plugins/database/types -->'
const end = '<!-- end of types -->'

export type Cells = readonly string[]

export interface TypeTables {
  /** Name, aliases, what is read on SQLite and on MySQL, and the note. */
  readonly columns: readonly Cells[]
  readonly drizzleMysql: readonly Cells[]
  readonly drizzleSqlite: readonly Cells[]
  readonly values: readonly Cells[]
}

/** Names of the JavaScript values, in the order of the table. */
const kinds = ['number', 'bigint', 'text', '`Uint8Array`', 'boolean', 'Date', 'Buffer', 'JSON']

/** The kind of a value that was read. */
export function kindOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return 'Buffer'
  if (value instanceof Uint8Array) return '`Uint8Array`'
  if (value instanceof Date) return 'Date'
  if (typeof value === 'string') return 'text'
  return typeof value === 'object' ? 'JSON' : typeof value
}

/** What was read of a column, in words. */
export function kindsInWords(found: ReadonlySet<string> | undefined): string {
  if (found === undefined) return '–'
  const words = kinds.filter((kind) => found.has(kind))
  if (words.join() === 'number,bigint') return 'number, `bigint` beyond 2^53'
  return words.map((word) => (word === 'bigint' ? '`bigint`' : word)).join(', ')
}

function table(head: Cells, rows: readonly Cells[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
}

/** The part of the README that these tables make. */
export function typeText({ columns, drizzleMysql, drizzleSqlite, values }: TypeTables): string {
  return [
    begin,
    table(['column', 'also', 'SQLite', 'MySQL and MariaDB', 'note'], columns),
    'With drizzle through the relational proxy (`drizzleMysql`):',
    table(['column', 'read', 'note'], drizzleMysql),
    'With drizzle through the edge proxy (`drizzleSqlite`):',
    table(['column', 'read', 'note'], drizzleSqlite),
    'Values that not every database can store, in a column of a type that fits:',
    table(['value', 'SQLite', 'MySQL and MariaDB', 'relational proxy', 'edge proxy'], values),
    end,
  ].join('\n\n')
}

/** That part as it is in the README. With TYPES_TABLE=write it is replaced first. */
export function documentedTypes(made: string): string {
  const text = readFileSync(readme, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end) + end.length]
  if (process.env.TYPES_TABLE === 'write') writeFileSync(readme, text.slice(0, from) + made + text.slice(to))
  return process.env.TYPES_TABLE === 'write' ? made : text.slice(from, to)
}
