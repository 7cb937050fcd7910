import { type SqlToken, tokensOf } from 'zin/plugins/sql-wire'
import { exactCell } from './cells.js'

interface Item {
  readonly expression: string
  readonly name: string
}

/** The parts of a write with a `RETURNING` clause. */
export interface Returning {
  /** The SQL up to and including the word RETURNING. */
  readonly head: string
  /** `*` stands for all columns of the table. */
  readonly items: readonly (Item | '*')[]
  /** The table as written in the SQL. */
  readonly table: string
}

/** Words that can end an expression, so they are not aliases. */
const endings: ReadonlySet<string> = new Set(['NULL', 'ISNULL', 'NOTNULL', 'END', 'TRUE', 'FALSE'])
/** Words followed by an operand, which is not an alias either. */
const operators: ReadonlySet<string> = new Set(
  'AND OR NOT IS IN LIKE GLOB MATCH REGEXP BETWEEN ESCAPE COLLATE CASE WHEN THEN ELSE DISTINCT FROM'.split(' '),
)

/** Returns the `RETURNING` clause of a statement with numbered placeholders; undefined if it has none. */
export function returningOf(sql: string): Returning | undefined {
  const all = tokensOf(sql, 'sqlite').tokens
  const end = all.findIndex(({ kind, text }, at) => at > 0 && kind === 'symbol' && text === ';')
  const tokens = end < 0 ? all : all.slice(0, end)
  const depths = depthsOf(tokens)
  const clause = tokens.findIndex(({ kind, text }, at) => kind === 'word' && text === 'RETURNING' && depths[at] === 0)
  if (clause < 0) return undefined
  const stop = end < 0 ? sql.length : (all[end] as SqlToken).at
  const commas = tokens.flatMap(({ text }, at) => (at > clause && text === ',' && depths[at] === 0 ? [at] : []))
  const edges = [clause, ...commas, tokens.length]
  const items = edges.slice(0, -1).map((from, index) => {
    const next = edges[index + 1] as number
    return itemOf(sql, tokens.slice(from + 1, next), tokens[next]?.at ?? stop)
  })
  const word = tokens[clause] as SqlToken
  return { head: sql.slice(0, word.at + word.text.length), items, table: tableOf(sql, tokens, depths) }
}

/** Returns the same write with exact result values, and the names of its columns. */
export function exactReturning(
  { head, items }: Returning,
  columns: readonly string[],
): { readonly sql: string; readonly names: readonly string[] } {
  const flat = items.flatMap((item) => (item === '*' ? columns.map((name) => ({ name, expression: quoted(name) })) : [item]))
  const cells = flat.map(({ expression }, index) => `${exactCell(`(${expression})`)} AS c${index}`)
  return { sql: `${head} ${cells.join(', ')}`, names: flat.map(({ name }) => name) }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function depthsOf(tokens: readonly SqlToken[]): readonly number[] {
  let depth = 0
  return tokens.map(({ kind, text }) => {
    if (kind === 'symbol' && text === '(') return depth++
    if (kind === 'symbol' && text === ')') return --depth
    return depth
  })
}

function itemOf(sql: string, tokens: readonly SqlToken[], end: number): Item | '*' {
  const first = tokens[0]
  const last = tokens.at(-1)
  if (first === undefined || last === undefined) return { expression: '', name: '' }
  if (tokens.length === 1 && first.text === '*') return '*'
  const before = tokens.at(-2)
  const lastText = textOf(sql, last, end)
  const isName = last.kind === 'word' || last.kind === 'name' || last.kind === 'string'
  if (before !== undefined && isName && before.kind === 'word' && before.text === 'AS')
    return { expression: sql.slice(first.at, before.at).trim(), name: unquoted(lastText) }
  const isPart = before === undefined || before.text === '.'
  const isAlias = !isPart && isName && !endings.has(last.text) && endsOperand(before)
  if (isAlias) return { expression: sql.slice(first.at, last.at).trim(), name: unquoted(lastText) }
  const expression = sql.slice(first.at, end).trim()
  return { expression: withoutComment(expression), name: isPart && isName ? unquoted(lastText) : expression }
}

/** Returns whether this token completes an operand, so that a following name is an alias. */
function endsOperand({ kind, text }: SqlToken): boolean {
  if (kind === 'word') return !operators.has(text)
  return kind !== 'symbol' || text === ')'
}

/** Ends the line, so that a trailing comment cannot swallow what follows. */
function withoutComment(expression: string): string {
  return `${expression}\n`
}

/** Returns the text of the last token of an item, without trailing comments. */
function textOf(sql: string, { at, kind, text }: SqlToken, end: number): string {
  if (kind === 'word') return sql.slice(at, at + text.length)
  const rest = sql.slice(at, end)
  const close = text === '[' ? ']' : text
  for (let index = 1; index < rest.length; index++) {
    if (rest[index] !== close) continue
    if (rest[index + 1] !== close || close === ']') return rest.slice(0, index + 1)
    index++
  }
  return rest
}

function unquoted(text: string): string {
  const quote = text[0]
  if (quote === '[') return text.slice(1, -1)
  return quote === '"' || quote === '`' || quote === "'" ? text.slice(1, -1).replaceAll(quote + quote, quote) : text
}

/** Returns `schema.table` or `table` after INTO, UPDATE or DELETE FROM. */
function tableOf(sql: string, tokens: readonly SqlToken[], depths: readonly number[]): string {
  const verb = tokens.findIndex(({ kind, text }, at) => kind === 'word' && depths[at] === 0 && ['INTO', 'UPDATE', 'DELETE'].includes(text))
  const word = tokens[verb]?.text
  const skips = word === 'DELETE' ? 2 : word === 'UPDATE' && tokens[verb + 1]?.text === 'OR' ? 3 : 1
  const start = tokens[verb + skips]
  if (verb < 0 || start === undefined) return ''
  const name = textOf(sql, start, sql.length)
  const second = tokens[verb + skips + 1]?.text === '.' ? tokens[verb + skips + 2] : undefined
  return second === undefined ? name : `${name}.${textOf(sql, second, sql.length)}`
}
