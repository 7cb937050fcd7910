import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { jwt } from 'zin/plugins/jwt'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { addUser, env, post, run, signed } from '../../scripts/testing/login-session.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { login } from './index.js'

async function onMysql(name: string, ...statements: readonly string[]): Promise<void> {
  const url = new URL(process.env.TEST_MYSQL_URL ?? '')
  url.pathname = `/${name}`
  const connection = await createConnection(url.href)
  try {
    for (const statement of statements) await connection.query(statement)
  } finally {
    await connection.end()
  }
}

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

describe('a login that the throttle refuses', () => {
  it('writes nothing and checks no password', async () => {
    const redis = await redisServer()
    let checked = 0
    const verifyCredentials = async () => void (checked += 1)
    const host = await createTestHost({
      plugins: [kv(), jwt(), bulletproof(), login({ verifyCredentials })],
      env: { ...env, REDIS_URL: redis.url },
    })
    try {
      const attempt = async () => (await post(host, { email: 'ada@example.com', password: 'wrong-one' })).status
      for (let index = 0; index < 5; index += 1) assert.equal(await attempt(), 401)
      const client = host.service(kvService).redis
      await client?.config('RESETSTAT')
      assert.equal(await attempt(), 429)
      const stats = (await client?.info('commandstats')) ?? ''
      const calls = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].filter(([, command]) => !/^(config|info)/.test(command ?? ''))
      assert.deepEqual(Object.fromEntries(calls.map(([, command, count]) => [command, count])), { mget: '1', get: '1' })
      assert.equal(checked, 5)
    } finally {
      await host.stop()
      await redis.stop()
    }
  })
})

describe('login on Redis and MariaDB, with two processes of one app', () => {
  const mysql = mysqlDatabase('login')
  const prefix = `test-${randomUUID()}`
  const boot = (): Promise<TestHost> =>
    createTestHost({
      plugins: [database(), kv({ prefix }), jwt(), bulletproof(), login(), health()],
      env: {
        ...env,
        REDIS_URL: redisUrl,
        CACHE_DRIVER: 'kv',
        ...mysql.env,
      },
    })
  let hosts: readonly [TestHost, TestHost]
  before(async () => {
    await mysql.create()
    hosts = [await boot(), await boot()]
  })
  after(async () => {
    for (const host of hosts) await host.stop()
    await mysql.drop()
  })

  it('shares logins, logouts and attempts between the processes', async () => {
    const [one, other] = hosts
    const { id, password } = await addUser(one, 'ada@example.com', 'admin')
    const { body: session } = await post(one, { email: 'ada@example.com', password })
    assert.deepEqual((await signed(other, session, 'GET', '/api/me')).body, {
      id,
      email: 'ada@example.com',
      role: 'admin',
      deviceId: session.deviceId,
    })
    assert.equal((await signed(one, session, 'POST', '/auth/logout')).status, 200)
    assert.equal((await signed(other, session, 'GET', '/api/me')).status, 401)

    const statuses: number[] = []
    for (const host of [one, other, one, other, one, other])
      statuses.push((await post(host, { email: 'bob@example.com', password })).status)
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
  })

  it('treats two emails that the collation considers equal as two users', async () => {
    const [one] = hosts
    const { password } = await addUser(one, 'jose@example.com')
    assert.equal((await post(one, { email: 'jos\u00e9@example.com', password })).status, 401)
    assert.equal((await post(one, { email: 'JOSE@example.com', password })).status, 200)
    assert.deepEqual((await run(one, 'user:disable', { email: 'jose@example.com' })).lines, [
      'jose@example.com is disabled; 1 device(s) removed',
    ])
    assert.equal((await post(one, { email: 'jose@example.com', password })).status, 401)
  })

  it('accepts emails in any script, in a database whose default is latin1, and in tables created with that default', async () => {
    const latin = mysqlDatabase('latin')
    await latin.create()
    await onMysql(latin.name, `alter database ${latin.name} character set latin1`)
    const boot = () => createTestHost({ plugins: [database(), jwt(), bulletproof(), login()], env: { ...env, ...latin.env } })
    const statusOf = async (host: TestHost, email: string, password: string) => (await post(host, { email, password })).status
    try {
      const first = await boot()
      const { password } = await addUser(first, '\u65e5\u672c@x')
      assert.equal(await statusOf(first, '\u65e5\u672c@x', 'wrong-one'), 401)
      assert.equal(await statusOf(first, '\u65e5\u672c@x', password), 200)
      await first.stop()
      const tables = ['zin_users', 'bulletproof_devices', 'bulletproof_nonces']
      await onMysql(
        latin.name,
        'delete from zin_users',
        ...tables.map((table) => `alter table ${table} convert to character set latin1`),
        "delete from zin_migrations where id like '%unicode%'",
      )
      const second = await boot()
      assert.equal(await statusOf(second, '\u65e5\u672c@y', 'wrong-one'), 401)
      await second.stop()
    } finally {
      await latin.drop()
    }
  })

  it('reports readiness with database and cache', async () => {
    const { status, body } = await hosts[0].inject({ path: '/health/ready' })
    assert.deepEqual([status, body.dependencies.database.status, body.dependencies.cache.status], [200, 'ready', 'ready'])
  })
})
