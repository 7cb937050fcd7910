import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { checkClock, type Finding, messageOf, type StoreInfo } from 'zin'
import type { ConnectionConfig, MysqlConfig, SqliteConfig } from './connections/config.js'
import { missingPrivileges } from './grants.js'
import type { OwnedDatabase } from './service.js'
import { sqlTools } from './sql-tools.js'

interface Parts {
  /** Creates a database that has this connection only. */
  make(): OwnedDatabase
  /** Whether another account may run the migrations. */
  readonly manual: boolean
}

/** A connection for `zin info` and `zin doctor`. */
export function storeInfo(config: ConnectionConfig, parts: Parts): StoreInfo {
  if (config.driver === 'sqlite') {
    const where = `SQLite in ${config.file}`
    return { where, check: () => checkSqlite(config, where, parts) }
  }
  if (config.driver === 'rdb') {
    const where = `database ${config.database} on ${config.host}:${config.port}`
    return { where, check: () => checkMysql(config, where, parts) }
  }
  const where = `database behind the proxy ${config.url}`
  return { where, check: () => whileOpen(parts, async (database) => [await responding(database, where)]) }
}

async function whileOpen(parts: Parts, work: (database: OwnedDatabase) => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  const database = parts.make()
  try {
    await database.connect()
    return await work(database)
  } finally {
    await database.close()
  }
}

async function responding(database: OwnedDatabase, where: string, version?: string): Promise<Finding> {
  const ms = await database.ping()
  return { check: where, message: `it responds in ${ms} ms${version === undefined ? '' : `, version ${version}`}` }
}

/** A file that does not exist is not created. */
async function checkSqlite({ file }: SqliteConfig, where: string, parts: Parts): Promise<readonly Finding[]> {
  try {
    await access(file)
  } catch {
    return [{ check: where, message: 'it does not exist yet; the app creates it' }]
  }
  try {
    await access(file, constants.R_OK | constants.W_OK)
    await access(dirname(file), constants.W_OK)
  } catch (error) {
    return [
      {
        check: where,
        message: `it cannot be written: ${messageOf(error)}`,
        fix: 'Give this user permission to write the file and its folder',
      },
    ]
  }
  return whileOpen(parts, async (database) => [
    await responding(database, where, await versionOf(database, 'sqlite_version()')),
    ...(await writeFault(database, where)),
  ])
}

async function checkMysql(config: MysqlConfig, where: string, parts: Parts): Promise<readonly Finding[]> {
  return whileOpen(parts, async (database) => [
    await responding(database, where, await versionOf(database, 'version()')),
    await checkAccount(database, config, where, config.name === 'default' && !parts.manual),
    ...(await writeFault(database, where)),
    await checkClock(where, () => timeOf(database)),
  ])
}

async function checkAccount(database: OwnedDatabase, config: MysqlConfig, where: string, migrates: boolean): Promise<Finding> {
  const { sql } = await import('kysely')
  const check = `permissions in ${where}`
  const { rows } = await sql<Readonly<Record<string, string>>>`show grants`.execute(database.main.tables())
  const lines = rows.flatMap((row) => Object.values(row).slice(0, 1))
  const missing = missingPrivileges(lines, config.database, migrates)
  if (missing === undefined) return { check, message: `not checked: the account "${config.username}" has its privileges from roles` }
  if (missing.length === 0) return { check, message: `the account "${config.username}" has the privileges that the app needs` }
  const privileges = missing.join(', ')
  return {
    check,
    message: `the account "${config.username}" lacks ${privileges}`,
    fix: `As an administrator: grant ${privileges} on ${config.database}.* to the account; or migrate with another account, and set DB_MIGRATE=manual`,
  }
}

async function writeFault(database: OwnedDatabase, where: string): Promise<readonly Finding[]> {
  const fault = await database.writeFault()
  if (fault === undefined) return []
  return [{ check: `writes to ${where}`, message: fault, fix: 'Connect to a server that can be written, or free space' }]
}

async function versionOf(database: OwnedDatabase, call: string): Promise<string> {
  const { sql } = await import('kysely')
  const { rows } = await sql<{ version: string }>`select ${sql.raw(call)} as version`.execute(database.main.tables())
  return rows[0]?.version ?? 'unknown'
}

async function timeOf(database: OwnedDatabase): Promise<number> {
  const tables = database.main.tables()
  const { now } = await sqlTools(tables)
  const { at } = await tables.selectNoFrom(now.as('at')).executeTakeFirstOrThrow()
  return Number(at)
}
