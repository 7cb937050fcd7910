import { randomUUID } from 'node:crypto'
import { createConnection } from 'mysql2/promise'

/** The settings of an app that uses a MySQL or MariaDB database. */
export type MysqlEnv = Readonly<Record<'DB_CONNECTION' | 'DB_HOST' | 'DB_PORT' | 'DB_DATABASE' | 'DB_USERNAME' | 'DB_PASSWORD', string>>

/** A database on the server of TEST_MYSQL_URL. */
export interface MysqlDatabase {
  readonly name: string
  readonly url: string
  readonly env: MysqlEnv
  create(): Promise<void>
  drop(): Promise<void>
}

/** Whether the tests run against the MySQL of TEST_MYSQLD instead of MariaDB. */
export const onMysql = Boolean(process.env.TEST_MYSQLD)

/** The numbers from 1 to `count` as SQL: a table `numbers` with the column `seq`, whose rows the server makes one by one. */
export function numbersTo(count: number): string {
  const places = Array.from(`${count - 1}`, (_, place) => place)
  const digit = (place: number) => `json_table('[0,1,2,3,4,5,6,7,8,9]', '$[*]' columns (digit int path '$')) as d${place}`
  const seq = `1 + ${places.map((place) => `${10 ** place} * d${place}.digit`).join(' + ')}`
  return `(select ${seq} as seq from ${places.map(digit).join(', ')} where ${seq} <= ${count}) as numbers`
}

/** If the setting is missing, the address itself states that in the connection error. */
function serverUrl(): URL {
  return new URL(process.env.TEST_MYSQL_URL ?? 'mysql://TEST_MYSQL_URL-is-not-set')
}

/** The settings for a database. Default: the one in TEST_MYSQL_URL, which already exists. */
export function mysqlEnv(database = serverUrl().pathname.slice(1)): MysqlEnv {
  const { hostname, port, username, password } = serverUrl()
  return {
    DB_CONNECTION: 'rdb',
    DB_HOST: hostname,
    DB_PORT: port || '3306',
    DB_DATABASE: database,
    DB_USERNAME: decodeURIComponent(username),
    DB_PASSWORD: decodeURIComponent(password),
  }
}

/** A database with a unique name; call `create` to create it. */
export function mysqlDatabase(prefix: string, characterSet = 'utf8mb4'): MysqlDatabase {
  const name = `zin_${prefix}_${randomUUID().slice(0, 8)}`
  const url = serverUrl()
  url.pathname = `/${name}`
  return {
    name,
    url: url.href,
    env: mysqlEnv(name),
    create: () => run(`create database ${name} character set ${characterSet}`),
    drop: () => run(`drop database ${name}`),
  }
}

async function run(statement: string): Promise<void> {
  const { DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD } = mysqlEnv()
  const connection = await createConnection({ host: DB_HOST, port: Number(DB_PORT), user: DB_USERNAME, password: DB_PASSWORD })
  try {
    await connection.query(statement)
  } finally {
    await connection.end()
  }
}
