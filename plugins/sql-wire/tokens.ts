/** Dialects with different rules for words, strings and comments. */
export type SqlDialect = 'mysql' | 'sqlite'

export interface SqlToken {
  /** `name`: never a keyword. `executable`: start of a comment that MySQL or MariaDB executes, such as `/*!50001`. */
  readonly kind: 'word' | 'string' | 'name' | 'placeholder' | 'number' | 'symbol' | 'executable'
  /** Words in upper case; symbols, placeholders and unquoted names unchanged; only the quote of strings and quoted names. */
  readonly text: string
  /** Start index in the SQL. */
  readonly at: number
}

export interface SqlTokens {
  readonly tokens: readonly SqlToken[]
  /** Whether a string, a quoted name or a comment is not terminated. */
  readonly unterminated: boolean
}

const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /(0[xX][0-9A-Fa-f]+|0b[01]+|\d+(\.\d*)?([eE][+-]?\d+)?)[A-Za-z0-9_$\u0080-\uffff]*/y
/** In MySQL, names may begin with `$`. */
const mysqlWord = /[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
/**
 * Numbers as MySQL reads them, in the order of its lexer: some end before a letter, as in `1.INTO` and `1e5INTO`, and with others the letters
 * make a name, as in `1INTO` and `0x1INTO`. An exponent without digits is part of a number with a point, as in `1.e(`.
 */
const mysqlNumbers: readonly (readonly [SqlToken['kind'], RegExp])[] = [
  ['number', /(0x[0-9A-Fa-f]+|0b[01]+)(?![A-Za-z0-9_$\u0080-\uffff])/y],
  ['name', /0[xb][A-Za-z0-9_$\u0080-\uffff]*/y],
  ['number', /\d+[eE][+-]?\d+/y],
  ['number', /\d*\.\d+([eE][+-]?\d*)?/y],
  ['number', /\d+\.([eE][+-]?\d*)?/y],
  ['name', /\d+[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y],
  ['number', /\d+/y],
]
/** A name after a point: never a keyword, nor is the word before it. After a word, it may begin with a digit. */
const member = /\.[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const memberOfWord = /\.[A-Za-z0-9_$\u0080-\uffff]+/y
const qualifiedWord = /[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*\.[A-Za-z0-9_$\u0080-\uffff]/y
const nullEscape = /\\N/y
const userVariable = /@{1,2}[A-Za-z0-9_.$]*/y
const plain = /\?/y
const numbered = /\?\d*/y
// SQLite treats every non-ASCII character as part of a name, and # like @.
const named = /[:@$#][A-Za-z0-9_$\u0080-\uffff]+/y
const executable = /\/\*M?!\d{0,6}/y
const any = /[\s\S]/y
const lineEnd = /\n|$/g
// Non-ASCII spaces are not whitespace: to both, a no-break space is part of a name. SQLite skips the byte order mark.
const spaces: Readonly<Record<SqlDialect, RegExp>> = { mysql: /[\t-\r ]/, sqlite: /[\t-\r \ufeff]/ }
/** In MySQL, two hyphens start a comment only before a space or a control character. */
const mysqlComment = /--(?=[\u0000- \u007f]|$)/y

/** Splits SQL into tokens without comments. Never fails; the database decides whether the SQL is valid. */
export function tokensOf(sql: string, dialect: SqlDialect): SqlTokens {
  const tokens: SqlToken[] = []
  let unterminated = false
  let inExecutable = false
  let at = 0

  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  const take = (kind: SqlToken['kind'], pattern: RegExp): boolean => {
    const text = match(pattern)
    if (text === undefined) return false
    tokens.push({ kind, text: kind === 'word' ? text.toUpperCase() : text, at })
    at += text.length
    return true
  }
  const skipLine = (): void => {
    lineEnd.lastIndex = at
    at = (lineEnd.exec(sql)?.index ?? sql.length) + 1
  }
  const skipComment = (): void => {
    const end = sql.indexOf('*/', at + 2)
    // In SQLite, an open comment ends at the end of the SQL.
    if (end < 0 && dialect === 'mysql') unterminated = true
    at = end < 0 ? sql.length : end + 2
  }
  const quoted = (kind: 'string' | 'name', open: string, close: string): void => {
    const end = endOfQuoted(sql, at, close, dialect === 'mysql' && kind === 'string')
    if (end === undefined) unterminated = true
    tokens.push({ kind, text: open, at })
    at = end ?? sql.length
  }

  const isLineComment = (): boolean =>
    dialect === 'mysql' ? sql[at] === '#' || match(mysqlComment) !== undefined : sql.startsWith('--', at)
  /** Skips whitespace and comments. */
  const skip = (): boolean => {
    const start = at
    if (spaces[dialect].test(sql[at] as string)) at++
    else if (inExecutable && sql.startsWith('*/', at)) {
      inExecutable = false
      at += 2
    } else if (dialect === 'mysql' && take('executable', executable)) inExecutable = true
    else if (sql.startsWith('/*', at)) skipComment()
    else if (isLineComment()) skipLine()
    return at > start
  }
  const takeQuoted = (): boolean => {
    const char = sql[at] as string
    if (char === "'" || (char === '"' && dialect === 'mysql')) quoted('string', char, char)
    else if (char === '"' || char === '`') quoted('name', char, char)
    else if (char === '[' && dialect === 'sqlite') quoted('name', char, ']')
    else return false
    return true
  }
  const takeMysqlWordOrNumber = (): boolean => {
    const isName = match(qualifiedWord) !== undefined
    if (!(take(isName ? 'name' : 'word', mysqlWord) || take('name', member) || mysqlNumbers.some(([kind, pattern]) => take(kind, pattern))))
      return take('symbol', nullEscape)
    if (tokens.at(-1)?.kind === 'name') while (take('name', memberOfWord));
    return true
  }
  const takeWordOrNumber = (): boolean => (dialect === 'mysql' ? takeMysqlWordOrNumber() : take('word', word) || take('number', number))
  const placeholder = (): boolean =>
    dialect === 'mysql'
      ? take('placeholder', plain) || take('name', userVariable)
      : take('placeholder', numbered) || take('placeholder', named)

  while (at < sql.length) {
    const known = skip() || takeQuoted() || placeholder() || takeWordOrNumber()
    if (!known) take('symbol', any)
  }
  return { tokens, unterminated: unterminated || inExecutable }
}

/** Returns the index after the closing quote. A doubled quote is part of the text, and so is `\'` in MySQL. */
function endOfQuoted(sql: string, start: number, close: string, escapes: boolean): number | undefined {
  for (let at = start + 1; at < sql.length; at++) {
    if (escapes && sql[at] === '\\') at++
    else if (sql[at] === close) {
      if (sql[at + 1] !== close || close === ']') return at + 1
      at++
    }
  }
  return undefined
}
