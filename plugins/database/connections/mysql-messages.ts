import { messageOf, type ZinError } from 'zin'
import { databaseErrors } from '../errors.js'
import type { MysqlConfig } from './config.js'

/** The boot error of a server that did not respond in time. */
export function unreachable(config: MysqlConfig, waitedMs: number, error: unknown): ZinError {
  return databaseErrors.DATABASE_UNAVAILABLE(
    `${nameOf(config)} could not be reached within ${waitedMs} ms: ${reasonOf(error)}. ${fix(config, 'Start the server, or correct', 'host and port', 'DB_HOST and DB_PORT')}`,
  )
}

/** The error of a server that was reachable before and does not respond now. */
export function silent(where: string, waitedMs: number): ZinError {
  return databaseErrors.DATABASE_UNAVAILABLE(`Database ${where} did not respond within ${waitedMs} ms`)
}

/** The boot error of a server that refused the connection. */
export function refusal(config: MysqlConfig, error: unknown): ZinError {
  const hints: Readonly<Record<string, string>> = {
    ER_ACCESS_DENIED_ERROR: fix(config, 'Correct', 'username and password', 'DB_USERNAME and DB_PASSWORD'),
    ER_DBACCESS_DENIED_ERROR: `Grant the user "${config.username}" privileges on the database "${config.database}"`,
    ER_BAD_DB_ERROR: `Create the database (create database ${config.database} character set utf8mb4), or ${fix(config, 'correct', 'database', 'DB_DATABASE')}`,
  }
  return databaseErrors.DATABASE_CONFIG(
    `${nameOf(config)} refused the connection: ${codeOf(error)}. ${hints[codeOf(error)] ?? messageOf(error)}`,
  )
}

/** Some socket errors have a code and no message. */
export function reasonOf(error: unknown): string {
  return messageOf(error) || codeOf(error)
}

function nameOf(config: MysqlConfig): string {
  return `database "${config.name}" (${config.database} on ${config.host}:${config.port})`
}

function fix(config: MysqlConfig, verb: string, fields: string, settings: string): string {
  return `${verb} ${config.name === 'default' ? settings : `${fields} of connections.${config.name}`}`
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'error'
}
