import type { Logger } from 'zin'
import { messageOf, withDeadline, ZinError } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { rdbProxyErrors } from './errors.js'
import { wasDenied, wasReadOnly, wireErrorOf } from './sql/db-errors.js'
import type { Gateway } from './sql/gateway.js'
import { type Session, silent } from './sql/session.js'

/** Time limit of the check, in ms. */
const checkMs = 10_000

/** Privileges that a reading user may have. */
const harmless: ReadonlySet<string> = new Set([
  'SELECT',
  'USAGE',
  'SHOW VIEW',
  'SHOW DATABASES',
  'PROCESS',
  'REPLICATION CLIENT',
  'BINLOG MONITOR',
  'SLAVE MONITOR',
])

/** Returns the privileges beyond reading in the lines of SHOW GRANTS. */
export function excessPrivileges(grants: readonly string[]): readonly string[] {
  const found = grants.flatMap((grant) => {
    const [, list = '', rest = ''] = /^GRANT (.+?) ON (.+)$/i.exec(grant) ?? []
    // Roles are granted without ON; their privileges are unknown here, so they count as excess.
    if (list === '') return [/^GRANT (.+?) TO/i.exec(grant)?.[1] ?? grant]
    const privileges = list
      .replace(/\([^)]*\)/g, '')
      .split(',')
      .map((name) => name.trim().toUpperCase())
    const own = privileges.filter((name) => !harmless.has(name))
    return /WITH GRANT OPTION/i.test(rest) ? [...own, 'GRANT OPTION'] : own
  })
  return [...new Set(found)]
}

/** Privileges with which SQL leaves its database: for files of the server, for other accounts, or for the server itself. */
const powerful: ReadonlySet<string> = new Set([
  'ALL PRIVILEGES',
  'FILE',
  'SUPER',
  'SHUTDOWN',
  'CREATE USER',
  'SET USER',
  'SET_USER_ID',
  'SET_ANY_DEFINER',
  'ALLOW_NONEXISTENT_DEFINER',
  'ROLE_ADMIN',
  'SYSTEM_USER',
  'SYSTEM_VARIABLES_ADMIN',
  'GRANT OPTION',
])
/** With these on the database `mysql`, accounts can be changed. */
const changes: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'CREATE', 'ALTER', 'DROP'])

/** Returns the privileges beyond its own databases in the lines of SHOW GRANTS of a writing user. */
export function powerfulPrivileges(grants: readonly string[]): readonly string[] {
  const found = grants.flatMap((grant) => {
    const [, list = '', object = '', rest = ''] = /^GRANT (.+?) ON (\S+) (.*)$/i.exec(grant) ?? []
    const privileges = [
      ...list.split(',').map((name) => name.trim().toUpperCase()),
      ...(/WITH GRANT OPTION/i.test(rest) ? ['GRANT OPTION'] : []),
    ]
    if (object === '*.*')
      return privileges.filter((name) => powerful.has(name) || changes.has(name)).map((name) => `${name} on all databases`)
    if (/^`?mysql`?\./i.test(object)) return privileges.filter((name) => !harmless.has(name)).map((name) => `${name} on mysql`)
    return []
  })
  return [...new Set(found)]
}

/**
 * Checks that the writing user has no privileges beyond its database, on its first connection. If it has, production refuses the connection
 * with CONFIG_ERROR; elsewhere a warning is logged. Pass the result to the gateway.
 */
export function writerCheck({ user, production, allowed, log }: WriterCheckOptions): (session: Session) => Promise<void> {
  let passed = allowed
  return async (session) => {
    if (passed) return
    const rows = await session.rows<Readonly<Record<string, string>>>('SHOW GRANTS')
    const found = powerfulPrivileges(rows.map((row) => String(Object.values(row)[0])))
    if (found.length > 0) {
      const error = rdbProxyErrors.RDB_PROXY_POWERFUL_ACCOUNT(user, found.join(', '))
      if (production)
        throw new WireError('CONFIG_ERROR', 'The writing user of the proxy has privileges beyond its database; writes are disabled', {
          cause: error,
        })
      log.warn({}, `${error.message}. Production refuses to start`)
    }
    passed = true
  }
}

/** Tries to write as the reading user, outside of read-only mode. Returns what the user can do, or undefined. Rejects if that is unknown. */
async function tryToWrite(gateway: Gateway): Promise<string | undefined> {
  const session = await gateway.openReader()
  try {
    // Without a user, it also shows what MariaDB grants to PUBLIC.
    const rows = await session.rows<Readonly<Record<string, string>>>('SHOW GRANTS')
    const excess = excessPrivileges(rows.map((row) => String(Object.values(row)[0])))
    if (excess.length > 0) return `has the privileges ${excess.join(', ')}`
    await session.command('SET SESSION TRANSACTION READ WRITE')
    return await tryToCreate(session)
  } finally {
    session.discard()
  }
}

/** Only a denial by the server shows that the user cannot create tables: after any other error, such as a lost connection, it may have one. */
async function tryToCreate(session: Session): Promise<string | undefined> {
  const name = `zin_proxy_probe_${process.pid}`
  try {
    await session.command(`create table if not exists ${name} (id int)`)
  } catch (error) {
    if (wasDenied(error)) return undefined
    // A server that is read-only reports this before it checks privileges, except for temporary tables.
    if (!wasReadOnly(error)) throw error
    return tryToCreateTemporarily(session, name)
  }
  try {
    await session.command(`drop table if exists ${name}`)
    return 'may create tables'
  } catch {
    return `may create tables (drop the table ${name} yourself: the proxy created it as a test and could not drop it)`
  }
}

async function tryToCreateTemporarily(session: Session, name: string): Promise<string | undefined> {
  try {
    await session.command(`create temporary table ${name} (id int)`)
    return 'may create temporary tables'
  } catch (error) {
    if (wasDenied(error)) return undefined
    throw error
  }
}

export interface WriterCheckOptions {
  readonly user: string
  readonly production: boolean
  readonly allowed: boolean
  readonly log: Logger
}

export interface BootCheckOptions {
  readonly gateway: Gateway
  readonly user: string
  readonly production: boolean
  readonly log: Logger
}

/**
 * Checks that the reading user cannot write. If it can, production refuses all reads; elsewhere a warning is logged. If that cannot be
 * determined, for example because the database is unavailable, reads are refused, and the next one repeats the check.
 */
export class BootCheck {
  readonly #options: BootCheckOptions
  #passed = false
  #running: Promise<string | undefined> | undefined

  constructor(options: BootCheckOptions) {
    this.#options = options
  }

  /** Runs at startup. Throws RDB_PROXY_READS_WRITE or RDB_PROXY_POWERFUL_ACCOUNT in production. */
  async start(): Promise<void> {
    const { log, user, production, gateway } = this.#options
    try {
      const what = await this.#look()
      if (what !== undefined && production) throw rdbProxyErrors.RDB_PROXY_READS_WRITE(user, what)
      ;(await gateway.openWriter()).discard()
    } catch (error) {
      const cause = error instanceof WireError ? error.cause : error
      if (cause instanceof ZinError && cause.code in rdbProxyErrors) throw cause
      log.warn(
        { database: gateway.where, reason: messageOf(error) },
        'the reading user could not be checked; statements are refused until the database is available and the check succeeds',
      )
    }
  }

  /** Runs before each read. Throws CONFIG_ERROR in production if the reading user can write. */
  check(): void | Promise<void> {
    if (!this.#passed) return this.#pass()
  }

  async #pass(): Promise<void> {
    let what: string | undefined
    try {
      what = await this.#look()
    } catch (error) {
      const wire = wireErrorOf(error, { reads: true, showMessage: false })
      if (!(wire instanceof WireError) || wire.status >= 500) throw wire
      // The server refused a statement of the check, not that of the caller.
      throw new WireError('CONFIG_ERROR', 'The reading user of the proxy could not be checked; reads are refused until it can be', {
        cause: error,
      })
    }
    if (what !== undefined && this.#options.production)
      throw new WireError('CONFIG_ERROR', 'The reading user of the proxy has write privileges; reads are disabled')
  }

  async #look(): Promise<string | undefined> {
    this.#running ??= withDeadline(tryToWrite(this.#options.gateway), checkMs, silent).finally(() => {
      this.#running = undefined
    })
    const what = await this.#running
    const { production, user, log } = this.#options
    if (what === undefined || !production) {
      if (what !== undefined && !this.#passed)
        log.warn(
          {},
          `the database user "${user}" for reading ${what}; production refuses that: set RDB_PROXY_READ_USERNAME to a user with only SELECT`,
        )
      this.#passed = true
    }
    return what
  }
}
