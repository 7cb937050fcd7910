import { type Logger, messageOf, readSettings, withDeadline } from 'zin'
import { databaseSettings, discard, openSocket, query } from 'zin/plugins/database'
import { microserviceErrors } from '../errors.js'

const limitMs = 5000
const denied: ReadonlySet<unknown> = new Set(['ER_DBACCESS_DENIED_ERROR', 'ER_ACCESS_DENIED_ERROR', 'ER_SPECIFIC_ACCESS_DENIED_ERROR'])

/**
 * Creates the schema of an isolated service on the server of its environment, unless it exists. With `DB_MIGRATE=manual`, or if the user
 * lacks the privilege, throws SERVICE_SCHEMA_MISSING with the statements to run. If the server cannot be reached, does nothing: the plugin
 * database waits for it.
 */
export async function createSchema(service: string, env: Readonly<Record<string, string | undefined>>, log: Logger): Promise<void> {
  const given = Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
  const settings = readSettings(databaseSettings, given, `service ${service}`)
  if (settings.DB_CONNECTION !== 'rdb' || settings.USE_RDB_PROXY) return
  const { DB_DATABASE: schema, DB_HOST: host, DB_PASSWORD: password, DB_PORT: port, DB_USERNAME: user } = settings
  const socket = await openSocket({ host, port, user, password, charset: 'utf8mb4', connectTimeout: limitMs }, limitMs).catch(
    () => undefined,
  )
  if (socket === undefined) return
  const name = `\`${schema.replaceAll('`', '``')}\``
  const statement = `create database if not exists ${name} character set utf8mb4`
  const missing = (why: string): Error =>
    microserviceErrors.SERVICE_SCHEMA_MISSING(service, schema, why, `${statement}; grant all privileges on ${name}.* to '${user}'`)
  const run = (sql: string, values: readonly unknown[] = []): Promise<readonly unknown[]> =>
    withDeadline(query(socket, sql, values), limitMs, `the database server did not respond within ${limitMs} ms`)
  try {
    const found = await run('select 1 from information_schema.schemata where schema_name = ?', [schema])
    if (found.length > 0) return
    if (settings.DB_MIGRATE === 'manual') throw missing('and DB_MIGRATE is manual')
    await run(statement).catch((error: unknown) => {
      throw denied.has((error as { readonly code?: unknown }).code) ? missing(`and cannot be created (${messageOf(error)})`) : error
    })
    log.info({ service, schema }, `created the schema "${schema}" of service "${service}" (database.isolation)`)
  } finally {
    discard(socket)
  }
}
