import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { health } from 'zin/plugins/health'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlEnv } from '../../../scripts/testing/mysql-database.js'
import { rdbProxy } from '../index.js'
import type { RdbProxyOptions } from '../options.js'

/** Secret of the proxies under test. */
export const secret = 'secret-of-the-relational-proxy-under-test'

/** A proxy on the test database. Usable as the target of `sendWire`. */
export interface RdbUnderTest {
  readonly url: string
  readonly base: string
  readonly keyId: string
  readonly secret: string
  readonly host: TestHost
  close(): Promise<void>
}

export interface RdbOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Partial<RdbProxyOptions>
  /** Content of the statements file. */
  readonly statements?: string
}

export async function openRdb({ env = {}, options = {}, statements }: RdbOptions = {}): Promise<RdbUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-rdb-'))
  const file = join(folder, 'statements.json')
  if (statements !== undefined) await writeFile(file, statements)
  const { DB_CONNECTION: _unused, ...db } = mysqlEnv()
  const host = await createTestHost({
    listen: true,
    plugins: [health(), rdbProxy(options)],
    env: {
      NODE_ENV: 'test',
      ...db,
      RDB_PROXY_SECRET: secret,
      ...(statements === undefined ? {} : { RDB_PROXY_STATEMENTS_FILE: file }),
      ...env,
    },
  })
  return {
    url: host.url,
    base: '/svc/rdb/',
    keyId: 'shop',
    secret,
    host,
    async close() {
      await host.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Opens the database directly, as the administrator. */
export async function openAdmin() {
  const { DB_HOST, DB_PORT, DB_DATABASE, DB_USERNAME, DB_PASSWORD } = mysqlEnv()
  const connection = await createConnection({
    host: DB_HOST,
    port: Number(DB_PORT),
    database: DB_DATABASE,
    user: DB_USERNAME,
    password: DB_PASSWORD,
  })
  return {
    database: DB_DATABASE,
    run: async (sql: string, values: readonly (string | number)[] = []) =>
      (await connection.query(sql, [...values]))[0] as readonly Record<string, unknown>[],
    close: () => connection.end(),
  }
}

/** Creates a user with only SELECT; returns the settings with which the proxy reads as that user. */
export async function createReader(): Promise<{ readonly env: Readonly<Record<string, string>>; drop(): Promise<void> }> {
  const name = `r_${randomUUID().slice(0, 8)}`
  const admin = await openAdmin()
  await admin.run(`create user ${name}@'127.0.0.1' identified by 'reads'`)
  await admin.run(`grant select on \`${admin.database}\`.* to ${name}@'127.0.0.1'`)
  return {
    env: { RDB_PROXY_READ_USERNAME: name, RDB_PROXY_READ_PASSWORD: 'reads' },
    async drop() {
      await admin.run(`drop user ${name}@'127.0.0.1'`)
      await admin.close()
    },
  }
}
