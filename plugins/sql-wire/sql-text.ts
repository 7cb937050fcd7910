import { runsText } from './programs.js'
import { type SqlDialect, type SqlToken, tokensOf } from './tokens.js'

/**
 * Kind of a statement, judged by its tokens. `control` statements change the session or the transaction (SET, BEGIN, LOCK TABLES, USE,
 * ATTACH), or run other statements (PREPARE, CALL, DO); `pragma` exists only in SQLite.
 */
export type SqlKind = 'read' | 'write' | 'ddl' | 'control' | 'pragma' | 'unknown'

export interface SqlScan {
  readonly kind: SqlKind
  /** The first word in upper case, after comments and opening parentheses; empty if there is none. */
  readonly keyword: string
  /** The word that decides the kind: after EXPLAIN, what it explains, and after WITH, the main verb. Like `keyword` otherwise. */
  readonly verb: string
  /** Number of non-empty statements. */
  readonly statements: number
  /** Number of parameters. */
  readonly placeholders: number
  /** Whether it has named placeholders such as `:id` (SQLite), which the proxies do not support. */
  readonly namedPlaceholders: boolean
  /** Whether it has `INTO OUTFILE` or `INTO DUMPFILE`. */
  readonly writesFile: boolean
  /** Whether it calls LOAD_FILE (MySQL). */
  readonly readsFile: boolean
  /** Whether it places files of a table in a folder of its choice, with `DATA DIRECTORY` or `INDEX DIRECTORY` (MySQL). */
  readonly placesFiles: boolean
  /** Whether it stores a program (an event, a trigger, a routine) that sets the session or a role, or runs SQL that it makes (MySQL). */
  readonly runsText: boolean
  /** Whether it shows accounts with the hash of their passwords, or the statement of another session, as SHOW GRANTS does (MySQL). */
  readonly showsOthers: boolean
  /** Whether it creates a temporary object, which replaces a stored one of the same name for the whole connection (SQLite). */
  readonly temporary: boolean
  /** Whether it is a read with `INTO`, which writes a file or a variable. */
  readonly selectsInto: boolean
  /** Whether it has a comment that the server executes, such as `/*!50001 … *` followed by `/`. */
  readonly executableComment: boolean
  /** Whether a string, a quoted name or a comment is not terminated. */
  readonly unterminated: boolean
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(' '))

const reads = set('SELECT SHOW EXPLAIN DESCRIBE DESC VALUES TABLE')
const writes = set('INSERT UPDATE DELETE REPLACE')
const ddl = set(
  'CREATE ALTER DROP TRUNCATE RENAME GRANT REVOKE ANALYZE OPTIMIZE REPAIR CHECK CHECKSUM REINDEX VACUUM INSTALL UNINSTALL COMMENT',
)
const control = set(
  'LOAD IMPORT SET BEGIN START COMMIT END ROLLBACK SAVEPOINT RELEASE LOCK UNLOCK USE CALL DO PREPARE EXECUTE DEALLOCATE KILL HANDLER XA FLUSH RESET CACHE CHANGE PURGE STOP SHUTDOWN SIGNAL RESIGNAL GET HELP BINLOG CLONE RESTART DELIMITER ATTACH DETACH BACKUP',
)
const afterWith = set('SELECT INSERT UPDATE DELETE REPLACE VALUES TABLE')

/** Classifies SQL: everything that both proxies check before they run it. */
export function scanSql(sql: string, dialect: SqlDialect): SqlScan {
  const { tokens, unterminated } = tokensOf(sql, dialect)
  const code = tokens.filter(({ kind }) => kind !== 'executable')
  const first = code.find(({ text }) => text !== '(' && text !== ';')
  const keyword = first?.kind === 'word' ? first.text : ''
  const into = code.flatMap(({ kind, text }, at) => (kind === 'word' && text === 'INTO' ? [code[at + 1]] : []))
  const body = bodyOf(keyword, code, dialect)
  const kind = kindOf(body, dialect)
  return {
    kind,
    keyword,
    verb: verbOf(body) || keyword,
    statements: statementsIn(code),
    placeholders: placeholdersIn(code),
    namedPlaceholders: code.some((token) => token.kind === 'placeholder' && !token.text.startsWith('?')),
    writesFile: into.some((next) => next?.kind === 'word' && (next.text === 'OUTFILE' || next.text === 'DUMPFILE')),
    readsFile: dialect === 'mysql' && code.some((token, at) => code[at + 1]?.text === '(' && isLoadFile(token, sql)),
    placesFiles: dialect === 'mysql' && code.some((_, at) => isDirectory(code.slice(at, at + 3))),
    runsText: dialect === 'mysql' && kind === 'ddl' && runsText(code),
    showsOthers: dialect === 'mysql' && showsOthers(keyword, code),
    temporary: dialect === 'sqlite' && createsTemporary(body, sql),
    selectsInto: kind === 'read' && into.length > 0,
    executableComment: code.length < tokens.length,
    unterminated,
  }
}

/** Whether it is `DATA DIRECTORY` or `INDEX DIRECTORY` with a value. */
function isDirectory([first, second, third]: readonly SqlToken[]): boolean {
  const words = first?.kind === 'word' && second?.kind === 'word'
  return words && /^(DATA|INDEX)$/.test(first.text) && second.text === 'DIRECTORY' && (third?.text === '=' || third?.kind === 'string')
}

/** MySQL finds a function by its name in quotes, too, and compares without accents. */
function isLoadFile({ at, kind }: SqlToken, sql: string): boolean {
  if (kind !== 'word' && kind !== 'name') return false
  const name = sql
    .slice(at, at + 40)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
  return /^`?load_file(?![A-Za-z0-9_$])/i.test(name)
}

const plans = set('EXPLAIN DESCRIBE DESC ANALYZE')
/** Words after which ANALYZE updates statistics. */
const statistics = set('TABLE TABLES LOCAL NO_WRITE_TO_BINLOG')
/** What MySQL and MariaDB explain; all of them are reserved words. */
const explained = set('WITH SELECT TABLE VALUES INSERT UPDATE DELETE REPLACE')

/** Returns the tokens of the statement itself: after EXPLAIN, that which is explained. SQLite runs some of it, such as PRAGMA. */
function bodyOf(keyword: string, code: readonly SqlToken[], dialect: SqlDialect): readonly SqlToken[] {
  const start = code.findIndex(({ kind, text }) => kind === 'word' && text === keyword)
  if (start < 0) return []
  const whole = code.slice(start)
  if (dialect === 'sqlite') {
    if (keyword !== 'EXPLAIN') return whole
    const isPlan = [1, 2].map((at) => whole[at]?.text).join(' ') === 'QUERY PLAN'
    return whole.slice(isPlan ? 3 : 1)
  }
  if (!plans.has(keyword) || (keyword === 'ANALYZE' && statistics.has(whole[1]?.text ?? ''))) return whole
  const at = whole.findIndex(
    ({ kind, text }, i) => i > 0 && ((kind === 'word' && explained.has(text)) || (kind === 'symbol' && text === '(')),
  )
  if (at > 0) return whole.slice(at)
  const others = whole.some(({ text }, i) => text === 'FOR' && whole[i + 1]?.text === 'CONNECTION')
  return others ? [] : whole
}

function verbOf(body: readonly SqlToken[]): string {
  const first = body.find(({ text }) => text !== '(' && text !== ';')
  const word = first?.kind === 'word' ? first.text : ''
  return word === 'WITH' ? mainWord(body) : word
}

function kindOf(body: readonly SqlToken[], dialect: SqlDialect): SqlKind {
  const word = verbOf(body)
  if (dialect === 'sqlite' && word === 'PRAGMA') return 'pragma'
  if (reads.has(word)) return 'read'
  if (writes.has(word)) return 'write'
  if (ddl.has(word)) return 'ddl'
  return control.has(word) ? 'control' : 'unknown'
}

/** After SHOW: accounts, and what MariaDB shows of the statement of another session. */
function showsOthers(keyword: string, code: readonly SqlToken[]): boolean {
  if (keyword !== 'SHOW') return false
  const [first, second] = code.slice(code.findIndex(({ text }) => text === 'SHOW') + 1).map(({ text }) => text)
  return first === 'GRANTS' || first === 'EXPLAIN' || first === 'ANALYZE' || (first === 'CREATE' && second === 'USER')
}

const beforeName = set('UNIQUE VIRTUAL TABLE VIEW TRIGGER INDEX IF NOT EXISTS')

/** Whether it is `create temp table t`, or `create table temp.t` with any quotes. */
function createsTemporary([first, ...rest]: readonly SqlToken[], sql: string): boolean {
  if (first?.text !== 'CREATE') return false
  if (rest[0]?.text === 'TEMP' || rest[0]?.text === 'TEMPORARY') return true
  const at = rest.findIndex(({ kind, text }) => kind !== 'word' || !beforeName.has(text))
  const [name, point] = [rest[at], rest[at + 1]]
  return point?.text === '.' && /^["'`[]?temp["'`\]]?(?![A-Za-z0-9_$\u0080-\uffff])/i.test(sql.slice(name?.at))
}

/** Returns the main verb after common table expressions, which are in parentheses. */
function mainWord(code: readonly SqlToken[]): string {
  let depth = 0
  for (const { kind, text } of code) {
    if (text === '(' && kind === 'symbol') depth++
    else if (text === ')' && kind === 'symbol') depth--
    else if (depth === 0 && kind === 'word' && afterWith.has(text)) return text
  }
  return ''
}

function statementsIn(code: readonly SqlToken[]): number {
  let count = 0
  let empty = true
  for (const { kind, text } of code) {
    const ends = kind === 'symbol' && text === ';'
    if (!ends && empty) count++
    empty = ends
  }
  return count
}

/** Counts parameters. In SQLite, `?7` is the seventh parameter, and a plain `?` after it the eighth. */
function placeholdersIn(code: readonly SqlToken[]): number {
  let most = 0
  const names = new Set<string>()
  for (const { kind, text } of code) {
    if (kind !== 'placeholder') continue
    if (text === '?') most++
    else if (text.startsWith('?')) most = Math.max(most, Number(text.slice(1)))
    else if (!names.has(text)) {
      names.add(text)
      most++
    }
  }
  return most
}

/** Returns the first word in upper case, after comments and parentheses. */
export function firstKeyword(sql: string, dialect: SqlDialect): string {
  return scanSql(sql, dialect).keyword
}

/** Returns why a statement must not run on a read path; undefined if the text shows no reason. Not the only line of defense. */
export function readFault(scan: SqlScan): string | undefined {
  if (scan.executableComment) return 'It has a comment that the server executes'
  if (scan.writesFile) return 'It writes a file'
  if (scan.readsFile) return 'It reads a file of the server'
  if (scan.selectsInto) return 'It has INTO, which stores its result'
  if (scan.kind === 'read') return undefined
  return scan.keyword === '' ? 'It does not begin with a word' : `${scan.verb} is not a reading statement`
}

/** Returns whether MySQL implicitly commits the open transaction before this statement. */
export function commitsImplicitly({ kind, keyword }: SqlScan): boolean {
  return kind === 'ddl' || kind === 'unknown' || (kind === 'control' && !set('SET CALL DO SAVEPOINT RELEASE GET SIGNAL').has(keyword))
}
