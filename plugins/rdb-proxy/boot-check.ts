import type { Logger } from 'zin'
import { messageOf, withDeadline } from 'zin'
import { WireError } from 'zin/plugins/sql-wire'
import { rdbProxyErrors } from './errors.js'
import { wireErrorOf } from './sql/db-errors.js'
import type { Gateway } from './sql/gateway.js'
import { silent } from './sql/session.js'

/** How long the check may take, in ms. */
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

/** The privileges in the lines of SHOW GRANTS that are more than reading. */
export function excessPrivileges(grants: readonly string[]): readonly string[] {
  const found = grants.flatMap((grant) => {
    const [, list = '', rest = ''] = /^GRANT (.+?) ON (.+)$/i.exec(grant) ?? []
    // A role is granted without ON; what it allows is not known here.
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

/** Tries to write as the reading user, with the session's own protection switched off; what is written is a table that is dropped at once. */
async function tryToWrite(gateway: Gateway): Promise<string | undefined> {
  const session = await gateway.openReader()
  try {
    const rows = await session.rows<Readonly<Record<string, string>>>('SHOW GRANTS FOR CURRENT_USER')
    const excess = excessPrivileges(rows.map((row) => String(Object.values(row)[0])))
    if (excess.length > 0) return `has the privileges ${excess.join(', ')}`
    await session.command('SET SESSION TRANSACTION READ WRITE')
    const name = `zin_proxy_probe_${process.pid}`
    try {
      await session.command(`create table ${name} (id int)`)
      await session.command(`drop table ${name}`)
      return 'may create tables'
    } catch {
      return undefined
    }
  } finally {
    session.discard()
  }
}

export interface BootCheckOptions {
  readonly gateway: Gateway
  readonly user: string
  readonly production: boolean
  readonly log: Logger
}

/**
 * Whether the reading side can write. In production it then stays shut; elsewhere a warning says so. A database that is away is asked again
 * by the next read.
 */
export class BootCheck {
  readonly #options: BootCheckOptions
  #passed = false
  #running: Promise<string | undefined> | undefined

  constructor(options: BootCheckOptions) {
    this.#options = options
  }

  /** At the start. Throws RDB_PROXY_READS_WRITE in production. */
  async start(): Promise<void> {
    const { log, user, production, gateway } = this.#options
    try {
      const what = await this.#look()
      if (what === undefined) return
      if (production) throw rdbProxyErrors.RDB_PROXY_READS_WRITE(user, what)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'RDB_PROXY_READS_WRITE') throw error
      log.warn({ database: gateway.where, reason: messageOf(error) }, 'the database cannot be reached yet; requests get 503 until it can')
    }
  }

  /** Before each read. Throws CONFIG_ERROR in production when the reading side could write. */
  check(): void | Promise<void> {
    if (!this.#passed) return this.#pass()
  }

  async #pass(): Promise<void> {
    let what: string | undefined
    try {
      what = await this.#look()
    } catch (error) {
      throw wireErrorOf(error, { reads: true, showMessage: false })
    }
    if (what !== undefined && this.#options.production) throw new WireError('CONFIG_ERROR', 'The proxy is not set up to read safely')
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
          `the database user "${user}" for reading ${what}; production refuses that: set RDB_PROXY_READ_USERNAME to a user with SELECT alone`,
        )
      this.#passed = true
    }
    return what
  }
}
