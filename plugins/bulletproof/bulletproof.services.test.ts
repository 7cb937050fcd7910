import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type Connection, createConnection } from 'mysql2/promise'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { describeStores } from './store/stores.contract.js'
import { countsOf, type TestApp, withApp } from './testing/app.js'
import { withStores } from './testing/stores.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'
const redis = () => ({ driver: 'kv' as const, plugins: () => [kv({ prefix: `test-${randomUUID()}` })], env: { REDIS_URL: redisUrl } })

describeStores('kv on Redis', (test) => withStores(redis(), test), false)

describe('on MySQL or MariaDB, with a separate database', () => {
  const { env, url, create, drop } = mysqlDatabase('bp')
  const backend = { driver: 'db' as const, plugins: () => [database()], env }
  let sql: Connection
  before(async () => {
    await create()
    // Creates the tables.
    await withStores(backend, async () => undefined)
    sql = await createConnection(url)
  })
  after(async () => {
    await sql.end()
    await drop()
  })

  describeStores('tables on MySQL or MariaDB', async (test) => {
    for (const table of ['bulletproof_devices', 'bulletproof_nonces']) await sql.query(`delete from ${table}`)
    await withStores(backend, test)
  })

  it('S6: one of 200 concurrent copies of a request is accepted', () =>
    withApp({ plugins: [database()], env, options: { nonceStore: 'db' } }, async (app) => assertOnce(app, 200)))
})

describe('on Redis', () => {
  it('S6: one of 200 concurrent copies of a request is accepted', () =>
    withApp({ ...forApp(), options: { deviceStore: 'kv' } }, async (app) => assertOnce(app, 200)))

  it('a request costs two round trips', async (t) => {
    // Its statistics count the commands of all clients.
    const server = await redisServer()
    t.after(() => server.stop())
    await withApp({ ...forApp(), env: { REDIS_URL: server.url }, options: { deviceStore: 'kv' } }, async (app) => {
      const client = app.service(kvService).redis
      assert.ok(client !== undefined)
      await app.send()
      await client.config('RESETSTAT')
      assert.equal((await app.send()).status, 200)
      const stats = await client.info('commandstats')
      const calls = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].filter(([, command]) => !/^(config|info)/.test(command ?? ''))
      assert.deepEqual(Object.fromEntries(calls.map(([, command, count]) => [command, count])), { mget: '1', set: '1' })
    })
  })
})

function forApp() {
  const { plugins, env } = redis()
  return { plugins: plugins(), env }
}

async function assertOnce(app: TestApp, copies: number): Promise<void> {
  const headers = await app.headersOf()
  const responses = await Promise.all(Array.from({ length: copies }, () => app.host.inject({ path: '/api/me', headers })))
  assert.deepEqual(countsOf(responses), { 200: 1, 401: copies - 1 })
}
