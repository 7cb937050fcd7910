import type { Logger } from 'zin'
import { messageOf, withDeadline, ZinError } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { rdbProxyErrors } from './errors.js'
import { wasDenied, wasReadOnly, wireErrorOf } from './sql/db-errors.js'
import type { Gateway } from './sql/gateway.js'
import { type Session, silent } from './sql/session.js'

/** Time limit of the check, in ms. */
const checkMs = 10_000

/** Privileges that a reading user may have on the databases of the app. */
const reading: ReadonlySet<string> = new Set(['SELECT', 'USAGE', 'SHOW VIEW'])

/** Privileges that a user may have on all databases, because they show and change nothing of any. */
const everywhere: ReadonlySet<string> = new Set(['USAGE', 'SHOW DATABASES'])

/** Privileges that show what other sessions and replicas do, and change nothing. */
const readsEverything: ReadonlySet<string> = new Set(['PROCESS', 'REPLICATION CLIENT', 'BINLOG MONITOR', 'SLAVE MONITOR'])

/** Databases of the server: with privileges on them, accounts and statements of others can be read or changed. */
const systemDatabases = ['mysql', 'sys', 'performance_schema', 'information_schema']

interface Grant {
  readonly privileges: readonly string[]
  /** `*.*`, or the pattern of a database and a table in it; undefined: a role, or a privilege without an object. */
  readonly object: string | undefined
}

/** A privilege has quotes only in its list of columns; what begins with one is a role, whose name may contain anything. */
const grantPattern =
  /^GRANT ((?:[^`'"(]|\((?:`(?:[^`]|``)*`|[^`)])*\))+?) ON (?:(?:FUNCTION|PROCEDURE|PACKAGE(?: BODY)?) )?((?:`(?:[^`]|``)*`|[^\s`])+) (.*)$/is

/** Reads a line of SHOW GRANTS. */
function grantOf(line: string): Grant {
  const [, list = '', object = '', rest = ''] = grantPattern.exec(line) ?? []
  // Roles are granted without ON; their privileges are unknown here.
  if (list === '') return { privileges: [/^GRANT (.+?) TO/i.exec(line)?.[1] ?? line], object: undefined }
  const privileges = list
    .replace(/\([^)]*\)/g, '')
    .split(',')
    .map((name) => name.trim().toUpperCase())
  return { privileges: /WITH GRANT OPTION/i.test(rest) ? [...privileges, 'GRANT OPTION'] : privileges, object }
}

/** Returns the privileges beyond reading in the lines of SHOW GRANTS. */
export function excessPrivileges(grants: readonly string[]): readonly string[] {
  const found = grants.map(grantOf).flatMap(({ object, privileges }) => {
    if (object === undefined) return privileges
    return privileges.filter((name) => !reading.has(name) && !(object === '*.*' && everywhere.has(name)))
  })
  return [...new Set(found)]
}

/** Returns the privileges that reach beyond the databases of an app in the lines of SHOW GRANTS: all but those that are known not to. */
export function powerfulPrivileges(grants: readonly string[]): readonly string[] {
  const found = grants.map(grantOf).flatMap(({ object, privileges }) => {
    if (object === undefined) return []
    if (object === '*.*') return privileges.filter((name) => !everywhere.has(name)).map((name) => `${name} on all databases`)
    const [, database = ''] = /^`((?:[^`]|``)*)`\./.exec(object) ?? /^([^`.]+)\./.exec(object) ?? []
    if (database === '') return privileges.map((name) => `${name} on ${object}`)
    const system = systemDatabases.find((name) => matchesPattern(database, name))
    return system === undefined ? [] : privileges.map((name) => `${name} on ${system}`)
  })
  return [...new Set(found)]
}

/** Whether the pattern of a database in a grant matches a name: `_` and `%` are wildcards unless they follow a backslash. */
function matchesPattern(pattern: string, name: string): boolean {
  const source = pattern.replace(/\\?./gs, (part) => {
    if (part === '%') return '.*'
    if (part === '_') return '.'
    return part.slice(-1).replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  })
  return new RegExp(`^${source}$`, 'is').test(name)
}

const rolePart = /(?:`(?:[^`]|``)*`|'(?:[^'\\]|''|\\.)*'|[^\s`'",@]+)/.source
const roleName = new RegExp(`${rolePart}(?:@${rolePart})?`, 'y')

/** Returns the roles that a line of SHOW GRANTS grants, as SQL; MySQL names several at once. Undefined if it cannot be read. */
export function rolesIn(line: string): readonly string[] | undefined {
  if (!/^GRANT /i.test(line) || grantOf(line).object !== undefined) return []
  const roles: string[] = []
  for (let at = 'GRANT '.length; ; ) {
    roleName.lastIndex = at
    const [role = ''] = roleName.exec(line) ?? []
    if (role === '') return undefined
    roles.push(role)
    at += role.length
    if (/^ TO /i.test(line.slice(at))) return roles
    const [comma] = /^, ?/.exec(line.slice(at)) ?? []
    if (comma === undefined) return undefined
    at += comma.length
  }
}

/** Maximum number of roles whose grants are read. */
const mostRoles = 50

/** The lines of SHOW GRANTS of a user and of all roles that it may take: SQL in a stored program can set one. */
async function grantsOf(session: Session): Promise<readonly string[]> {
  const linesOf = async (sql: string): Promise<readonly string[]> =>
    (await session.rows<Readonly<Record<string, string>>>(sql)).map((row) => String(Object.values(row)[0]))
  // Without a user, it also shows what MariaDB grants to PUBLIC.
  const found = [...(await linesOf('SHOW GRANTS'))]
  const known = new Set<string>()
  for (const line of found) {
    for (const role of rolesIn(line) ?? [line]) {
      if (known.has(role)) continue
      known.add(role)
      // A role that cannot be read may have any privilege.
      const unknown = [`GRANT UNKNOWN PRIVILEGES OF THE ROLE ${role.replaceAll('`', '').replaceAll(/[^\w.%@-]+/g, '_')} ON *.* TO ?`]
      const isReadable = role !== line && known.size <= mostRoles
      const lines = isReadable
        ? await linesOf(`SHOW GRANTS FOR ${role}`).catch((error: unknown) => {
            if (session.broken) throw error
            return unknown
          })
        : unknown
      found.push(...lines)
    }
  }
  return found
}

/**
 * Checks that the writing user has no privileges beyond its database, on its first connection. If it has, production refuses the connection
 * with CONFIG_ERROR; elsewhere a warning is logged. Pass the result to the gateway.
 */
export function writerCheck({ user, production, allowed, log }: WriterCheckOptions): (session: Session) => Promise<void> {
  let passed = allowed
  return async (session) => {
    if (passed) return
    const found = powerfulPrivileges(await grantsOf(session))
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
async function tryToWrite({ allowed, gateway }: BootCheckOptions): Promise<string | undefined> {
  const session = await gateway.openReader()
  try {
    const grants = await grantsOf(session)
    const powerful = powerfulPrivileges(grants)
    if (powerful.length > 0 && !allowed) return `has the privileges ${powerful.join(', ')}`
    // What reaches beyond the databases of the app is allowed if an option says so, but only for reading.
    const excess = excessPrivileges(grants).filter((name) => !(allowed && readsEverything.has(name)))
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
  /** Whether the user may read beyond the databases of the app. */
  readonly allowed: boolean
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
    this.#running ??= withDeadline(tryToWrite(this.#options), checkMs, silent).finally(() => {
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
