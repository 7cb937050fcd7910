import type { SqlToken } from './tokens.js'

const set = (words: string): ReadonlySet<string> => new Set(words.split(' '))

const programs = set('EVENT TRIGGER PROCEDURE FUNCTION PACKAGE')
/** Words before the kind of a program: `CREATE OR REPLACE DEFINER = 'a'@'b' AGGREGATE FUNCTION`. */
const mostBefore = 16
const runners = set('EXECUTE PREPARE CALL')
/** Words after which another statement begins. */
const starts = set('ROW DO BEGIN THEN ELSE LOOP REPEAT')
/** Statements with a SET of their own, for columns. */
const setsColumns = set('UPDATE INSERT REPLACE')
/** Words before a SET that belongs to a column, and after it. */
const ofColumn = { before: set('CHARACTER CHARSET DELETE UPDATE'), after: set('NULL DEFAULT') }

/**
 * Whether DDL of MySQL or MariaDB stores a program (an event, a trigger, a routine) that sets more than its own parameters and the new row, calls
 * a routine, or runs SQL that it makes: all of that is refused as a statement of its own.
 */
export function runsText(code: readonly SqlToken[]): boolean {
  const kind = code.slice(1, mostBefore).find((token) => isWord(token, programs))?.text
  if (kind === undefined) return false
  return code.some((token, at) => isWord(token, runners) || (token.kind === 'word' && token.text === 'SET' && setsMore(code, at, kind)))
}

function isWord(token: SqlToken | undefined, words: ReadonlySet<string>): boolean {
  return token?.kind === 'word' && words.has(token.text)
}

/** Judges each target of a SET by what may stand there: any other name could be that of a setting. */
function setsMore(code: readonly SqlToken[], at: number, kind: string): boolean {
  const next = code[at + 1]
  if (next?.text === '(' || belongsToColumns(code, at)) return false
  const parameters = kind === 'PROCEDURE' || kind === 'FUNCTION' ? parametersBefore(code, at) : new Set<string>()
  return targetsAfter(code, at).some(([first, second, ...rest]) => {
    if (first === undefined) return true
    if (second === undefined) return !parameters.has(nameOf(first))
    const isMember = second.text.startsWith('.') && rest.length <= 1
    return !(kind === 'TRIGGER' && nameOf(first) === 'NEW' && isMember)
  })
}

/** Whether it is the SET of an UPDATE, a character set, or a referential action or default of a column. */
function belongsToColumns(code: readonly SqlToken[], at: number): boolean {
  if (isWord(code[at - 1], ofColumn.before)) return true
  if (isWord(code[at + 1], ofColumn.after)) return code[at + 2]?.text !== 'ROLE'
  for (let i = at - 1; i > 0; i--) {
    const token = code[i] as SqlToken
    if (token.text === ';') return false
    const isFunction = code[i + 1]?.text === '('
    if (isWord(token, starts) && !isFunction) return false
    const isOrReplace = token.text === 'REPLACE' && code[i - 1]?.text === 'OR'
    if (isWord(token, setsColumns) && !isFunction && !isOrReplace) return true
  }
  return false
}

/** Everything in the first parentheses, which are those of the parameters of a routine. */
function parametersBefore(code: readonly SqlToken[], at: number): ReadonlySet<string> {
  const open = code.findIndex(({ kind, text }) => kind === 'symbol' && text === '(')
  const close = closing(code, open)
  return new Set(
    open < 0 || close > at
      ? []
      : code
          .slice(open + 1, close)
          .filter(({ kind }) => kind === 'word')
          .map(nameOf),
  )
}

function closing(code: readonly SqlToken[], open: number): number {
  let depth = 0
  for (let i = open; i >= 0 && i < code.length; i++) {
    if (code[i]?.kind !== 'symbol') continue
    if (code[i]?.text === '(') depth++
    else if (code[i]?.text === ')' && --depth === 0) return i
  }
  return code.length
}

/** The tokens before each `=` of a list of assignments. */
function targetsAfter(code: readonly SqlToken[], at: number): readonly (readonly SqlToken[])[] {
  const targets: SqlToken[][] = [[]]
  let inTarget = true
  let depth = 0
  for (const token of code.slice(at + 1)) {
    const { kind, text } = token
    const symbol = kind === 'symbol' ? text : ''
    if (symbol === ';' && depth === 0) break
    if (symbol === '(') depth++
    else if (symbol === ')') depth--
    if (symbol === ',' && depth === 0) {
      targets.push([])
      inTarget = true
    } else if (inTarget && (symbol === '=' || symbol === ':')) inTarget = false
    else if (inTarget) targets.at(-1)?.push(token)
  }
  return targets
}

/** Names do not depend on case; that of a quoted one is not known here. */
function nameOf({ text }: SqlToken): string {
  return text.toUpperCase()
}
