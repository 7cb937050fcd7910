import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import { rdbProxy } from 'zin/plugins/rdb-proxy'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlDatabase, numbersTo } from '../../scripts/testing/mysql-database.js'
import { migrationsContract } from '../migrations.contract.js'
import { databaseContract } from './database.contract.js'
import { type Database, database, databaseService } from './index.js'

const secret = randomUUID()
const keys = { RDB_PROXY_KEY_ID: 'app', RDB_PROXY_SECRET: secret }
const proxyHost = (env: Readonly<Record<string, string>>): Promise<TestHost> =>
  createTestHost({ plugins: [rdbProxy()], env: { RDB_PROXY_TRANSACTIONS: 'true', ...keys, ...env }, listen: true })
const appEnv = (url: string) => ({ DB_CONNECTION: 'rdb', USE_RDB_PROXY: 'true', RDB_PROXY_URL: url, ...keys })

databaseContract('the relational proxy', async () => {
  const store = mysqlDatabase('proxied')
  await store.create()
  const proxy = await proxyHost({ ...store.env, RDB_PROXY_POOL_LIMIT: '6' })
  return {
    config: {
      name: 'default',
      driver: 'rdb-proxy',
      url: proxy.url,
      keyId: 'app',
      secret,
      mode: 'sql',
      headers: {},
      headerPrefix: 'x-sig-',
      poolLimit: 3,
    },
    clean: async () => {
      await proxy.stop()
      await store.drop()
    },
  }
})

describe('a database behind the relational proxy', () => {
  const store = mysqlDatabase('behind')
  let proxy: TestHost
  let host: TestHost
  let db: Database
  before(async () => {
    await store.create()
    proxy = await proxyHost({ ...store.env, RDB_PROXY_TRANSACTIONS: 'false' })
    host = await createTestHost({ plugins: [database()], env: { ...appEnv(proxy.url), DB_STATEMENT_TIMEOUT_MS: '1000' } })
    db = host.service(databaseService)
  })
  after(async () => {
    await host.stop()
    await proxy.stop()
    await store.drop()
  })

  it('supports batches when the proxy allows no interactive transactions, and refuses transactions with that fix', async () => {
    await assert.rejects(
      db.transaction(() => assert.fail('it began')),
      { code: 'DATABASE_NO_TRANSACTIONS', message: /RDB_PROXY_TRANSACTIONS=true/ },
    )
  })

  it('fails a slow statement with a 503 at the deadline, and stops it on the server', async () => {
    const error = await sql`select sleep(600)`.execute(db.tables()).then(
      () => assert.fail('it ended'),
      (thrown: unknown) => thrown as { code: string; status: number },
    )
    assert.deepEqual([error.code, error.status, db.isUnavailable(error)], ['DATABASE_UNAVAILABLE', 503, true])
    const running = sql`select 1 from information_schema.processlist where info like 'select sleep(600)%'`
    while ((await running.execute(db.tables())).rows.length > 0);
  })

  it('streams rows', async () => {
    const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.raw(numbersTo(2000))}`.execute(db.tables())
    assert.equal(Number(rows[0]?.n), 2000)
    let sum = 0
    const numbers = db
      .tables()
      .selectFrom(sql<{ seq: number }>`(select seq from ${sql.raw(numbersTo(2000))})`.as('listed'))
      .select('seq')
      .stream()
    for await (const { seq } of numbers) sum += Number(seq)
    assert.equal(sum, 2_001_000)
  })
})

const migrated = mysqlDatabase('proxiedmigrations')
const env: Record<string, string> = {}
let migrationsProxy: TestHost
before(async () => {
  await migrated.create()
  migrationsProxy = await proxyHost(migrated.env)
  Object.assign(env, appEnv(migrationsProxy.url))
})
after(async () => {
  await migrationsProxy.stop()
  await migrated.drop()
})

migrationsContract('the relational proxy', env)
