import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type KyselyPlugin, sql } from 'kysely'
import { type SettingValues, systemClock } from 'zin'
import { ProxyError } from 'zin/clients'
import { createTestHost, memoryLogger } from 'zin/testing'
import { type ConfigInput, type ConnectionConfig, connectionConfigs } from './connections/config.js'
import { databaseContract, limits } from './database.contract.js'
import * as failures from './failures.js'
import { database, databaseService, deleteBefore } from './index.js'
import { createDatabase } from './service.js'
import type { databaseSettings } from './settings.js'

const settings: SettingValues<typeof databaseSettings> = {
  DB_CONNECTION: '',
  USE_RDB_PROXY: false,
  RDB_PROXY_URL: '',
  RDB_PROXY_HOST: '127.0.0.1',
  RDB_PROXY_PORT: 8789,
  RDB_PROXY_KEY_ID: '',
  RDB_PROXY_SECRET: '',
  'RDB_PROXY_HEADERS_*': {},
  EDGE_REMOTE_URL: '',
  EDGE_REMOTE_KEY_ID: '',
  EDGE_REMOTE_SECRET: '',
  EDGE_REMOTE_MODE: 'registry',
  APP_KEY: '',
  SIGNATURE_HEADER_PREFIX: 'x-sig-',
  DB_HOST: 'localhost',
  DB_PORT: 3306,
  DB_DATABASE: 'zin',
  DB_USERNAME: 'root',
  DB_PASSWORD: '',
  DB_POOL_LIMIT: 10,
  DB_CONNECT_TIMEOUT_MS: 10_000,
  DB_STATEMENT_TIMEOUT_MS: 5000,
  DB_MIGRATION_TIMEOUT_MS: 600_000,
  DB_ACQUIRE_TIMEOUT_MS: 5000,
  DB_MIGRATE: 'auto',
  APP_RENAMED_FROM: '',
}
const input: ConfigInput = { settings, options: { connections: {} }, dataDir: '/data', production: false }
const openOne = (config: ConnectionConfig, connectTimeoutMs = 400) =>
  createDatabase({ configs: [config], clock: systemClock, log: memoryLogger(), connectTimeoutMs, acquireTimeoutMs: 300, ...limits })

databaseContract('SQLite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'zin-database-'))
  return {
    config: { name: 'default', driver: 'sqlite', file: join(dir, 'data', 'app.db') },
    clean: () => rm(dir, { recursive: true, force: true }),
  }
})

describe('database configuration', () => {
  it('is a SQLite file in the data directory when DB_CONNECTION is empty', () => {
    assert.deepEqual(connectionConfigs(input), [{ name: 'default', driver: 'sqlite', file: '/data/app.db' }])
  })

  it('refuses unsupported connections and lists the supported ones', () => {
    const refused = { code: 'DATABASE_CONFIG', message: /Supported are .* "rdb" .*"edge-remote"/ }
    assert.throws(() => connectionConfigs({ ...input, settings: { ...settings, DB_CONNECTION: 'postgres' } }), refused)
  })

  it('refuses root with an empty password in production only, on every connection', () => {
    const rdb = { ...input, settings: { ...settings, DB_CONNECTION: 'rdb' } }
    assert.equal(connectionConfigs(rdb).length, 1)
    assert.throws(() => connectionConfigs({ ...rdb, production: true }), { message: /root with an empty password.*DB_PASSWORD/ })
    const named = { ...input, production: true, options: { connections: { reports: { driver: 'rdb' as const } } } }
    assert.throws(() => connectionConfigs(named), { message: /connections\.reports/ })
  })

  it('adds named connections with separate values', () => {
    const options = {
      connections: { reports: { driver: 'rdb' as const, host: 'db2', username: 'r', password: 'p' }, cache: { driver: 'sqlite' as const } },
    }
    assert.deepEqual(connectionConfigs({ ...input, options }).slice(1), [
      { name: 'reports', driver: 'rdb', host: 'db2', port: 3306, database: 'zin', username: 'r', password: 'p', poolLimit: 10 },
      { name: 'cache', driver: 'sqlite', file: '/data/cache.db' },
    ])
  })
})

describe('a SQLite file', { skip: process.platform === 'win32' }, () => {
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
  const umask = process.umask(0o022)
  after(() => void process.umask(umask))

  it('is readable for its owner only, with its folder and WAL files, also when it existed before', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'zin-database-'))
    const file = join(dir, 'zin', 'data', 'app.db')
    const all = [file, `${file}-wal`, `${file}-shm`]
    const first = openOne({ name: 'default', driver: 'sqlite', file })
    const second = openOne({ name: 'default', driver: 'sqlite', file })
    try {
      await first.connect()
      await sql`create table notes (id text)`.execute(first.tables())
      assert.deepEqual(await Promise.all([join(dir, 'zin'), join(dir, 'zin', 'data'), ...all].map(mode)), [
        '700',
        '700',
        '600',
        '600',
        '600',
      ])
      for (const path of all) await chmod(path, 0o644)
      await second.connect()
      assert.deepEqual(await Promise.all(all.map(mode)), ['600', '600', '600'])
    } finally {
      await Promise.all([first.close(), second.close()])
      await rm(dir, { recursive: true, force: true })
    }
  })
})

describe('database that cannot be opened', () => {
  it('names the file when it is not a database', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'zin-database-'))
    await writeFile(join(dir, 'app.db'), 'this is not a database, but long enough to be read as one. '.repeat(20))
    await assert.rejects(openOne({ name: 'default', driver: 'sqlite', file: join(dir, 'app.db') }).connect(), {
      code: 'DATABASE_UNAVAILABLE',
      message: /app\.db cannot be opened/,
    })
    await rm(dir, { recursive: true, force: true })
  })

  it('stops waiting for a server at the deadline, and reports the connection and the fix without the password', async () => {
    const config = {
      name: 'default',
      driver: 'rdb',
      host: '127.0.0.1',
      port: 1,
      database: 'zin',
      username: 'u',
      password: 'hunter2',
      poolLimit: 1,
    } as const
    const database = openOne(config)
    const error = await database.connect().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    assert.match(String(error), /database "default" \(zin on 127\.0\.0\.1:1\) could not be reached within 400 ms.*DB_HOST and DB_PORT/)
    assert.doesNotMatch(String(error), /hunter2/)
    assert.equal(database.connected, false)
    assert.equal(database.isUnavailable(error), true)
    await database.close()
  })

  it('lists the configured connections when another is requested', () => {
    assert.throws(() => openOne({ name: 'default', driver: 'sqlite', file: '/x' }).tables('reports'), {
      code: 'DATABASE_UNKNOWN_CONNECTION',
      message: /known: default/,
    })
  })
})

describe('errors of a SQL proxy', () => {
  const { isConflict, isUnavailable, isUniqueViolation } = failures
  const kinds = (code: string, details: Readonly<Record<string, unknown>> = {}) => {
    const error = new ProxyError(code, 'no', { details })
    return [isUniqueViolation(error), isConflict(error), isUnavailable(error)]
  }

  it('are classified like those of a driver', () => {
    assert.deepEqual(kinds('CONSTRAINT_VIOLATION', { kind: 'unique' }), [true, false, false])
    assert.deepEqual(kinds('CONSTRAINT_VIOLATION', { kind: 'unique', errno: 1062 }), [true, false, false])
    assert.deepEqual(kinds('CONSTRAINT_VIOLATION', { kind: 'check' }), [false, false, false])
    assert.deepEqual(kinds('TX_CONFLICT', { errno: 1213 }), [false, true, true])
    assert.deepEqual(kinds('TX_CONFLICT', { errno: 1205 }), [false, false, true])
    assert.deepEqual(kinds('TX_CONFLICT'), [false, true, true])
    assert.deepEqual(kinds('SQL_ERROR', { errno: 1064 }), [false, false, false])
  })
})

it('deleteBefore keeps a row that gets a newer time after it was selected', async () => {
  const host = await createTestHost({ plugins: [database()] })
  const db = host.service(databaseService).tables<{ aging: { id: string; part: number; at: number } }>()
  await db.schema
    .createTable('aging')
    .addColumn('id', 'varchar(36)')
    .addColumn('part', 'integer')
    .addColumn('at', 'bigint')
    .addPrimaryKeyConstraint('aging_key', ['id', 'part'])
    .execute()
  const renewing: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await db.updateTable('aging').set({ at: 9 }).where('id', '=', 'renewed').execute()
      return result
    },
  }
  for (const key of [['id'], ['id', 'part']]) {
    await db.deleteFrom('aging').execute()
    const rows = ['old', 'renewed'].map((id) => ({ id, part: 1, at: 1 }))
    await db.insertInto('aging').values(rows).execute()
    assert.equal(await deleteBefore(db.withPlugin(renewing), { table: 'aging', key, column: 'at', before: 2 }), false)
    assert.deepEqual(await db.selectFrom('aging').select(['id', 'at']).execute(), [{ id: 'renewed', at: 9 }])
  }
  await host.stop()
})

it('explain of a write on SQLite returns the plan, and later writes succeed', async () => {
  const host = await createTestHost({ plugins: [database()] })
  const db = host.service(databaseService).tables<{ planned: { id: number } }>()
  await db.schema.createTable('planned').addColumn('id', 'integer').execute()
  const { rows } = await sql`/* a plan */ explain delete from planned where id = ${1}`.execute(db)
  assert.ok(rows.length > 0)
  await db.transaction().execute((inside) => inside.insertInto('planned').values({ id: 1 }).execute())
  assert.deepEqual(await db.selectFrom('planned').selectAll().execute(), [{ id: 1 }])
  await host.stop()
})
