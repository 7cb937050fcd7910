import {
  checkParams,
  type ParsedStatement,
  readFault,
  type SqlScan,
  type SqlToken,
  scanSql,
  tokensOf,
  WireError,
  type WireParam,
  wrongCount,
} from 'zin/plugins/sql-wire'
import type { EdgeConfig } from './config.js'
import { describingPragmas } from './pragmas.js'

/** A single statement that may run: registered, or SQL that passed the checks. */
export interface ReadyStatement {
  readonly sql: string
  readonly tokens: readonly SqlToken[]
  readonly scan: SqlScan
  readonly params: readonly WireParam[]
  readonly kind: 'read' | 'write'
  readonly one: boolean
  readonly maxRows: number | undefined
  readonly timeoutMs: number | undefined
  readonly maxChanges: number | undefined
}

type Source = Pick<ParsedStatement, 'sql' | 'statementId' | 'params'>

/** Looks up or checks the statement of a caller. Throws a {@link WireError}. */
export function readyStatement(source: Source, config: EdgeConfig, keyId: string): ReadyStatement {
  const statement = foundStatement(source, config, keyId)
  const { sql } = statement
  const aborting = abortingSql(sql, statement.tokens)
  return aborting === sql ? statement : { ...statement, sql: aborting, tokens: tokensOf(aborting, 'sqlite').tokens }
}

/**
 * Returns the SQL with the conflict clause ABORT instead of ROLLBACK. Every request is one transaction that fails as a whole, so both mean the
 * same; but ROLLBACK ends the transaction of D1 inside of D1, whose error then does not say why.
 */
function abortingSql(sql: string, tokens: readonly SqlToken[]): string {
  const word = (index: number): string => (tokens[index]?.kind === 'word' ? (tokens[index]?.text ?? '') : '')
  let aborting = sql
  for (const [index, { at }] of tokens.entries()) {
    if (word(index) !== 'ROLLBACK') continue
    const clause = `${word(index - 2)} ${word(index - 1)}`
    if (clause !== 'INSERT OR' && clause !== 'UPDATE OR' && clause !== 'ON CONFLICT') continue
    // As long as the word that it replaces.
    aborting = `${aborting.slice(0, at)}ABORT   ${aborting.slice(at + 'ROLLBACK'.length)}`
  }
  return aborting
}

function foundStatement({ sql, statementId, params }: Source, { mode, registry, scopes }: EdgeConfig, keyId: string): ReadyStatement {
  if (statementId === undefined && mode === 'registry')
    throw new WireError(
      'SQL_MODE_DISABLED',
      'This proxy runs registered statements only: pass "statementId" (EDGE_REMOTE_MODE is "registry")',
    )
  const held = scopes?.get(keyId)
  if (statementId === undefined) {
    const free = freeStatement(sql as string, params)
    if (scopes !== undefined) needScopes(held, [free.kind], keyId)
    return free
  }
  const found = registry.get(statementId)
  if (found === undefined) throw new WireError('UNKNOWN_STATEMENT', 'No statement with this "statementId" is registered')
  needScopes(held, found.scopes, keyId)
  const checked = found.params === undefined ? params : checkParams(found.params, params)
  if (checked.length !== found.placeholders) throw wrongCount(found.placeholders, checked.length)
  const { kind, one, maxRows, timeoutMs, maxChanges } = found
  const { tokens } = tokensOf(found.sql, 'sqlite')
  const scan = scanSql(found.sql, 'sqlite')
  refuseSession(found.sql, scan)
  refuseOpen(found.sql, tokens)
  return { sql: found.sql, tokens, scan, params: checked, kind, one, maxRows, timeoutMs, maxChanges }
}

function needScopes(held: ReadonlySet<string> | undefined, needed: readonly string[], keyId: string): void {
  const scope = needed.find((name) => held?.has(name) !== true)
  if (scope !== undefined)
    throw new WireError('FORBIDDEN_SCOPE', `The key id ${keyId} lacks the scope ${scope} in EDGE_SCOPES`, { details: { scope } })
}

/** Checks SQL from the caller. */
function freeStatement(sql: string, params: readonly WireParam[]): ReadyStatement {
  const scan = scanSql(sql, 'sqlite')
  const { tokens } = tokensOf(sql, 'sqlite')
  refuseText(sql, scan)
  refuseOpen(sql, tokens)
  if (scan.placeholders !== params.length) throw wrongCount(scan.placeholders, params.length)
  const kind = readFault(scan) === undefined ? 'read' : 'write'
  return { sql, tokens, scan, params, kind, one: false, maxRows: undefined, timeoutMs: undefined, maxChanges: undefined }
}

/** What no path runs. */
function refuseText(sql: string, scan: SqlScan): void {
  // D1 would run all of them and bind the parameters to the last one.
  if (scan.statements > 1)
    throw new WireError('MULTIPLE_STATEMENTS', 'A request may have only one statement; use /svc/edge/batch for several')
  if (scan.statements === 0) throw new WireError('SQL_ERROR', 'The SQL contains no statement')
  if (scan.unterminated) throw new WireError('SQL_ERROR', 'A string or a quoted name is not terminated')
  if (sql.includes('\0')) throw new WireError('SQL_ERROR', 'The SQL contains a NUL character')
  if (scan.namedPlaceholders) throw new WireError('SQL_ERROR', 'Named placeholders are not supported; use ?')
  if (scan.kind === 'unknown') throw new WireError('SQL_ERROR', `${scan.verb || 'The SQL'} does not begin a SQLite statement`)
  refuseSession(sql, scan)
  if (/zin_edge_|_cf_/i.test(sql))
    throw new WireError('STATEMENT_NOT_ALLOWED', 'Names with zin_edge_ and _cf_ are reserved for the proxy and D1')
}

/** Refuses what changes the connection, which all callers share, or shows where its file is. */
function refuseSession(sql: string, { kind, verb, temporary }: SqlScan): void {
  if (kind === 'control' || kind === 'pragma' || verb === 'VACUUM') throw new WireError('STATEMENT_NOT_ALLOWED', `${verb} is not allowed`)
  if (temporary) throw new WireError('STATEMENT_NOT_ALLOWED', 'Temporary objects are not allowed: all callers share the connection')
  // Names cannot be written in any other way, whatever their quotes.
  for (const [name = '', pragma = ''] of sql.matchAll(/\bpragma_(\w+)/gi))
    if (!describingPragmas.has(pragma.toLowerCase())) throw new WireError('STATEMENT_NOT_ALLOWED', `${name} is not allowed`)
}

/** Refuses unbalanced parentheses and open comments, because the statement is embedded in another one. */
function refuseOpen(sql: string, tokens: readonly SqlToken[]): void {
  let depth = 0
  for (const { kind, text } of tokens) {
    if (kind === 'symbol' && text === '(') depth++
    if (kind === 'symbol' && text === ')' && --depth < 0) break
  }
  if (depth !== 0) throw new WireError('SQL_ERROR', 'The parentheses are not balanced')
  // Inside an open comment, `*/` ends it; otherwise it adds tokens.
  const isOpen = tokensOf(`${sql}\n*/`, 'sqlite').tokens.length === tokens.length
  if (isOpen) throw new WireError('SQL_ERROR', 'A comment is not terminated')
}

/** Throws READ_ONLY for a statement that may write. */
export function requireRead({ kind, scan }: ReadyStatement): void {
  const fault = kind === 'write' ? 'It is registered as a write' : readFault(scan)
  if (fault !== undefined) throw new WireError('READ_ONLY', `${readFault(scan) ?? fault}; this path is read-only, use /svc/edge/exec`)
}

/** Returns whether a write may insert rows; after WITH, the verb comes later. */
export function insertsRows({ scan: { keyword }, tokens }: ReadyStatement): boolean {
  if (keyword === 'UPDATE' || keyword === 'DELETE') return false
  return tokens.some(({ kind, text }) => kind === 'word' && (text === 'INSERT' || text === 'REPLACE'))
}
