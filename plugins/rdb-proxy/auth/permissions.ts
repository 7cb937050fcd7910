import {
  checkParams,
  type RegisteredStatement,
  readFault,
  type SqlScan,
  type StatementSource,
  scanSql,
  WireError,
  type WireParam,
  wrongCount,
} from 'zin/plugins/sql-wire'
import { sqlCache } from '../sql/sql-cache.js'
import type { Statements } from '../statements.js'
import { allows, type ProxyKey } from './keys.js'

/** What a route does with a statement. */
export type Purpose = 'query' | 'exec' | 'statement'

/** A statement that may run. */
export interface Allowed {
  readonly sql: string
  readonly params: readonly WireParam[]
  /** Whether it runs on a reading connection. */
  readonly reads: boolean
  /** Whether it is DDL, which commits an open transaction. */
  readonly ddl: boolean
  readonly registered?: RegisteredStatement
}

/** Decides whether statements may run, before any of a request does. */
export class Permissions {
  readonly #statements: Statements
  readonly #registryOnly: boolean
  readonly #granted = new WeakMap<ProxyKey, WeakSet<RegisteredStatement>>()
  readonly #scans = sqlCache<SqlScan>()

  constructor(statements: Statements, registryOnly: boolean) {
    this.#statements = statements
    this.#registryOnly = registryOnly
  }

  /** Throws a WireError if the key, the mode or the route does not allow the statement. */
  check(key: ProxyKey, purpose: Purpose, source: StatementSource & { readonly params: readonly WireParam[] }): Allowed {
    if (source.statementId !== undefined) return this.#registered(key, purpose, source.statementId, source.params)
    if (this.#registryOnly) throw new WireError('SQL_MODE_DISABLED', 'This proxy runs registered statements only; send a statementId')
    if (purpose === 'statement') throw new WireError('VALIDATION_ERROR', 'This path requires a "statementId"')
    need(key, 'rdb:sql')
    return this.#raw(key, purpose, source.sql as string, source.params)
  }

  #registered(key: ProxyKey, purpose: Purpose, id: string, params: readonly WireParam[]): Allowed {
    const statement = this.#statements.get(id)
    if (statement === undefined) throw new WireError('UNKNOWN_STATEMENT', `No statement is registered as ${JSON.stringify(id)}`)
    const reads = statement.kind === 'read'
    this.#needScopesOf(statement, key)
    if (purpose === 'query' && !reads)
      throw new WireError('READ_ONLY', `The statement ${JSON.stringify(id)} writes; send it to exec or statement`)
    if (statement.params === undefined && params.length !== statement.placeholders) throw wrongCount(statement.placeholders, params.length)
    const bound = statement.params === undefined ? params : checkParams(statement.params, params)
    return {
      sql: statement.sql,
      params: bound,
      reads: reads && purpose !== 'exec',
      ddl: this.#scan(statement.sql).kind === 'ddl',
      registered: statement,
    }
  }

  /** Keys and statements are immutable, so a check that passed once is cached. */
  #needScopesOf(statement: RegisteredStatement, key: ProxyKey): void {
    const granted = this.#granted.get(key) ?? new WeakSet()
    if (granted.has(statement)) return
    for (const scope of [`stmt:${statement.id}`, statement.kind === 'read' ? 'rdb:read' : 'rdb:write', ...statement.scopes])
      need(key, scope)
    this.#granted.set(key, granted.add(statement))
  }

  #raw(key: ProxyKey, purpose: Purpose, sql: string, params: readonly WireParam[]): Allowed {
    const scan = this.#scan(sql)
    if (scan.unterminated) throw new WireError('SQL_ERROR', 'A string, a quoted name or a comment is not terminated')
    if (scan.statements > 1) throw new WireError('MULTIPLE_STATEMENTS', `The SQL has ${scan.statements} statements; send them as a batch`)
    if (scan.statements === 0) throw new WireError('SQL_ERROR', 'The SQL contains no statement')
    need(key, purpose === 'query' ? 'rdb:read' : 'rdb:write')
    if (purpose === 'query') {
      const fault = scan.kind === 'unknown' ? undefined : readFault(scan)
      if (fault !== undefined) throw new WireError('READ_ONLY', `This path is read-only. ${fault}`)
    }
    if (scan.kind === 'unknown') throw new WireError('SQL_ERROR', `${scan.keyword || 'The SQL'} does not begin a supported statement`)
    if (scan.executableComment) throw new WireError('STATEMENT_NOT_ALLOWED', 'Comments that the server executes are not allowed')
    if (scan.readsFile) throw new WireError('STATEMENT_NOT_ALLOWED', 'LOAD_FILE is not allowed')
    if (scan.runsText)
      throw new WireError(
        'STATEMENT_NOT_ALLOWED',
        'A stored program may set only its own parameters and the new row, and may not call routines or run SQL that it makes',
      )
    if (scan.showsOthers)
      throw new WireError(
        'STATEMENT_NOT_ALLOWED',
        'SHOW of accounts, whose output has the hash of a password, or of other sessions is not allowed',
      )
    if (scan.placesFiles) throw new WireError('STATEMENT_NOT_ALLOWED', 'DATA DIRECTORY and INDEX DIRECTORY are not allowed')
    if (scan.writesFile || scan.selectsInto) throw new WireError('STATEMENT_NOT_ALLOWED', 'INTO a file or a variable is not allowed')
    if (scan.kind === 'control') throw new WireError('STATEMENT_NOT_ALLOWED', `${scan.keyword} is not allowed`)
    const ddl = scan.kind === 'ddl'
    if (ddl) need(key, 'rdb:ddl')
    return { sql, params, reads: purpose === 'query', ddl }
  }

  #scan(sql: string): SqlScan {
    const known = this.#scans.get(sql)
    if (known !== undefined) return known
    const scan = scanSql(sql, 'mysql')
    this.#scans.set(sql, scan)
    return scan
  }
}

function need({ scopes }: ProxyKey, scope: string): void {
  if (!allows(scopes, scope)) throw new WireError('FORBIDDEN_SCOPE', `This key lacks the scope ${scope}`, { details: { scope } })
}
