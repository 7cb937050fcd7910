import { type SqlToken, tokensOf } from 'zin/plugins/sql-wire'

const set = (...words: readonly string[]): ReadonlySet<string> => new Set(words.join(' ').split(' '))

/** Keywords that may precede a parenthesis. */
const keywords = set(
  'SELECT FROM JOIN ON WHERE AND OR NOT IN EXISTS AS UNION ALL ANY SOME OVER USING BY THEN ELSE WHEN CASE BETWEEN LIKE IS LIMIT HAVING EXCEPT DISTINCT',
)
/** Functions that neither read nor change session state. Before a space, some of these names would be those of stored functions. */
const functions = set(
  'COUNT SUM MIN MAX AVG COALESCE IFNULL NULLIF IF LOWER UPPER CONCAT CONCAT_WS GROUP_CONCAT LENGTH CHAR_LENGTH CAST ABS ROUND FLOOR CEIL CEILING MOD',
  'SUBSTRING SUBSTR TRIM LTRIM RTRIM LEFT RIGHT REPLACE GREATEST LEAST HEX UNHEX MD5 SHA1 SHA2 DATE YEAR MONTH DAY JSON_EXTRACT JSON_VALUE JSON_UNQUOTE',
  'CHAR VARCHAR DECIMAL BINARY ROW_NUMBER RANK LAG LEAD',
)
const beforeTable = set('FROM JOIN STRAIGHT_JOIN TABLE')
/** Reserved words at which a list of tables has ended, or has not begun. */
const afterTables = set('SELECT WHERE GROUP HAVING ORDER LIMIT')

/** A table as a statement names it. */
export interface TableName {
  /** Undefined: that of the connection. */
  readonly schema: string | undefined
  readonly table: string
}

/**
 * Returns the tables of a read that certainly leaves no session state except warnings, and reads none, if all of them are base tables: it has
 * no variables, no SHOW (it could show warnings of the previous statement), and only well-known functions. Its connection then needs no
 * reset, which costs more than most reads. Undefined: it may have state. Views are tables here, and may call any function.
 */
export function statelessTables(sql: string): readonly TableName[] | undefined {
  const { tokens } = tokensOf(sql, 'mysql')
  return tokens.every((token, at) => isHarmless(token, tokens[at + 1])) ? tablesIn(tokens, sql) : undefined
}

function isHarmless({ kind, text, at }: SqlToken, next: SqlToken | undefined): boolean {
  const calls = next?.text === '('
  if (kind === 'name') return !text.startsWith('@') && !calls
  if (kind === 'symbol') return text !== ':' && text !== '{'
  if (kind !== 'word') return true
  if (text === 'SHOW') return false
  return !calls || keywords.has(text) || (functions.has(text) && next.at === at + text.length)
}

interface Level {
  /** Whether a comma separates tables. */
  list: boolean
  /** Whether the next token names a table. */
  expects: boolean
}

/** Returns all tables that a statement may name, and possibly other names; undefined if one cannot be read. */
function tablesIn(tokens: readonly SqlToken[], sql: string): readonly TableName[] | undefined {
  const tables: TableName[] = []
  const levels: Level[] = [{ list: false, expects: false }]
  // Names of common table expressions whose body has ended: within it, the name is that of a table.
  const known = new Set<string>()
  let defined = tokens[0]?.text === 'WITH' && tokens[0].kind === 'word' ? [''] : undefined
  for (let i = 0; i < tokens.length; i++) {
    const { kind, text } = tokens[i] as SqlToken
    const level = levels.at(-1) as Level
    if (kind === 'symbol' && text === '(') {
      levels.push({ list: level.expects, expects: level.expects })
      level.expects = false
    } else if (kind === 'symbol' && text === ')') {
      levels.pop()
      if (levels.length === 0) return undefined
      if (levels.length === 1) for (const name of defined?.splice(0) ?? []) known.add(name)
    } else if (kind === 'symbol' && text === ',') level.expects = level.list
    else if (kind === 'word' && beforeTable.has(text)) Object.assign(level, { list: true, expects: true })
    else if (kind === 'word' && afterTables.has(text)) {
      Object.assign(level, { list: false, expects: false })
      if (levels.length === 1) defined = undefined
    } else if (level.expects) {
      level.expects = false
      const found = tableAt(tokens, i, sql)
      if (found === undefined) return undefined
      i = found.last
      const isKnown = found.schema === undefined && (known.has(found.table.toLowerCase()) || (kind === 'word' && text === 'DUAL'))
      if (!isKnown) tables.push(found)
    } else if (defined !== undefined && levels.length === 1 && tokens[i + 1]?.text === 'AS') {
      const name = nameAt(tokens[i], sql)
      if (name !== undefined) defined.push(name.toLowerCase())
    }
  }
  return tables
}

/** Reads `t`, `s.t` and the like with any quotes. */
function tableAt(tokens: readonly SqlToken[], at: number, sql: string): (TableName & { readonly last: number }) | undefined {
  const first = nameAt(tokens[at], sql)
  if (first === undefined) return undefined
  const next = tokens[at + 1]
  if (next?.kind === 'name' && next.text.startsWith('.')) return inSchema(first, next.text.slice(1), at + 1)
  if (next?.text !== '.') return { schema: undefined, table: first, last: at }
  return inSchema(first, nameAt(tokens[at + 2], sql), at + 2)
}

function inSchema(schema: string, table: string | undefined, last: number): (TableName & { readonly last: number }) | undefined {
  return table === undefined ? undefined : { schema, table, last }
}

const word = /[\w$\u0080-\uffff]+/y
const quoted = /`((?:[^`]|``)*)`/y

function nameAt(token: SqlToken | undefined, sql: string): string | undefined {
  if (token?.kind !== 'word' && token?.kind !== 'name') return undefined
  const pattern = token.text === '`' ? quoted : word
  pattern.lastIndex = token.at
  const [all, inner = all] = pattern.exec(sql) ?? []
  return inner?.replaceAll('``', '`')
}
