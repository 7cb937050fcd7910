import type { Connection as MysqlSocket } from 'mysql2'
import { databaseErrors } from '../errors.js'
import { assignments, isSetBy, sessionSettings } from './mysql-settings.js'

/**
 * The SQL mode of every connection, whatever the server has set globally. mysql2 writes parameters into the text of a statement with
 * backslashes, which `NO_BACKSLASH_ESCAPES` would turn into SQL.
 */
const sqlMode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'

const isolation = 'REPEATABLE-READ'

/** What a session must have besides `sessionSettings`. MySQL and MariaDB name the isolation and the access mode differently. */
const expected = (readOnly: boolean): Readonly<Record<string, string>> => ({
  sql_mode: sqlMode,
  time_zone: '+00:00',
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_results: 'utf8mb4',
  transaction_isolation: isolation,
  tx_isolation: isolation,
  transaction_read_only: readOnly ? 'ON' : 'OFF',
  tx_read_only: readOnly ? 'ON' : 'OFF',
  ...Object.fromEntries(sessionSettings.map(({ name, value }) => [name, value])),
})

const ofAccount = { reading: expected(true), writing: expected(false) }

/** Names that not every server has. */
const optional: ReadonlySet<string> = new Set([
  ...['transaction_isolation', 'tx_isolation', 'transaction_read_only', 'tx_read_only'],
  ...sessionSettings.flatMap(({ name, of }) => (of === undefined ? [] : [name])),
])

const [packetLimit, serverVersion] = ['max_allowed_packet', 'version'] as const

const set = `set names utf8mb4, session time_zone = '+00:00', session sql_mode = '${sqlMode}'${assignments}`
const show = `show session variables where variable_name in (${[...Object.keys(ofAccount.writing), packetLimit, serverVersion]
  .map((name) => `'${name}'`)
  .join(', ')})`

/**
 * Sets everything that decides what a statement and its values mean, and reads it back: `sql_mode`, time zone, character set, isolation,
 * access mode and `sessionSettings`. Resolves to the size in bytes of the largest statement that the server accepts. Call it when a
 * connection is open and after each reset, before any other statement. Rejects with DATABASE_SESSION if the server keeps something else; the
 * connection must then not be used.
 *
 * @param readOnly whether transactions may only read. Default false.
 */
export async function setUpSession(socket: MysqlSocket, { readOnly = false }: { readonly readOnly?: boolean } = {}): Promise<number> {
  await query(socket, set)
  await query(socket, `set session transaction isolation level repeatable read, read ${readOnly ? 'only' : 'write'}`)
  const rows = await query<Readonly<Record<string, string>>>(socket, show)
  const found = new Map(rows.map(({ Variable_name = '', Value = '' }) => [Variable_name.toLowerCase(), Value]))
  const version = found.get(serverVersion) ?? ''
  const others = new Set(sessionSettings.filter((setting) => !isSetBy(setting, version)).map(({ name }) => name))
  const wrong = Object.entries(readOnly ? ofAccount.reading : ofAccount.writing).find(([name, value]) => {
    // What only an administrator of this server may set.
    if (others.has(name)) return false
    const has = found.get(name)
    return has === undefined ? !optional.has(name) : has.split(',').toSorted().join() !== value.split(',').toSorted().join()
  })
  if (wrong !== undefined) throw databaseErrors.DATABASE_SESSION(wrong[0], wrong[1], found.get(wrong[0]) ?? 'nothing')
  return Number(found.get(packetLimit) ?? Number.POSITIVE_INFINITY)
}

/** One statement on a connection. */
export function query<Row>(socket: Pick<MysqlSocket, 'query'>, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    socket.query({ sql, values: [...values], rowsAsArray: false }, (error: unknown, rows: unknown) => {
      if (error) reject(error instanceof Error ? error : new Error(String(error)))
      else resolve(rows as readonly Row[])
    })
  })
}
