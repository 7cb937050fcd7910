import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from 'kysely'
import type { Plugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { kv } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { type MysqlServer, mysqlServer } from '../../scripts/testing/mysql-server.js'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'

describe('health over a real MariaDB and Redis', () => {
  let mysql: MysqlServer
  let redis: RedisServer
  let host: TestHost
  before(async () => {
    ;[mysql, redis] = await Promise.all([mysqlServer(), redisServer()])
    host = await createTestHost({
      plugins: [database(), kv(), health({ databaseTimeoutMs: 300 })],
      env: { ...mysql.env, REDIS_URL: redis.url, CACHE_DRIVER: 'kv' },
    })
  })
  after(async () => {
    mysql.resume()
    redis.resume()
    await host.stop()
    await Promise.all([mysql.stop(), redis.stop()])
  })

  const get = async (path: string) => {
    const { status, body } = await host.inject({ path })
    return { status, body }
  }
  /** Polls until the status is this one: a store that is back is reached within seconds. */
  const eventually = async (path: string, status: number, also: () => Promise<boolean> = async () => true) => {
    for (const end = performance.now() + 60_000; ; ) {
      const found = await get(path)
      if (found.status === status && (await also())) return found
      assert.ok(performance.now() < end, `${path} still has ${found.status}: ${JSON.stringify(found.body)}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  it('reports both while they respond', async () => {
    assert.deepEqual([(await get('/health')).status, (await get('/health')).body.database], [200, 'connected'])
    const { status, body } = await get('/health/ready')
    assert.deepEqual([status, body.dependencies.database.status, body.dependencies.cache.status], [200, 'ready', 'ready'])
    assert.equal(typeof body.dependencies.cache.responseTime, 'number')
  })

  it('warns while the database can only be read', async () => {
    const admin = host.service(databaseService)
    const writes = async () => {
      const { body } = await host.inject({ path: '/health/ready', headers: { accept: 'application/health+json' } })
      return body.checks['database-writes:responseTime'][0]
    }
    assert.equal((await writes()).status, 'pass')
    await sql`set global read_only = 1`.execute(admin.tables())
    try {
      await eventually('/health/ready', 200, async () => (await writes()).status === 'warn')
      assert.match((await writes()).output, /is read-only, as a replica is/)
      assert.equal((await get('/health')).status, 200)
    } finally {
      await sql`set global read_only = 0`.execute(admin.tables())
    }
    await eventually('/health/ready', 200, async () => (await writes()).status === 'pass')
  })

  it('reports a frozen database as unavailable while alive, and healthy once it resumes', async (t) => {
    t.after(() => mysql.resume())
    mysql.hang()
    const unhealthy = await get('/health')
    assert.deepEqual([unhealthy.status, unhealthy.body.database], [503, 'disconnected'])
    const { status, body } = await get('/health/ready')
    assert.deepEqual([status, body.dependencies.database.status], [503, 'unavailable'])
    assert.equal((await get('/health/live')).status, 200)
    mysql.resume()
    await eventually('/health', 200)
  })

  it('reports a frozen cache as unavailable after 2000 ms, and ready once it resumes', async () => {
    await eventually('/health/ready', 200)
    redis.hang()
    const { status, body } = await get('/health/ready')
    assert.deepEqual([status, body.dependencies.cache.status], [503, 'unavailable'])
    assert.match(body.error, /within 2000 ms/)
    redis.resume()
    await eventually('/health/ready', 200)
  })

  it('reports a stopped cache as unavailable', async () => {
    await redis.kill()
    assert.equal((await get('/health/ready')).body.dependencies.cache.status, 'unavailable')
    await redis.start()
    await eventually('/health/ready', 200)
  })
})

describe('the clock of a node', () => {
  let mysql: MysqlServer
  let redis: RedisServer
  before(async () => {
    ;[mysql, redis] = await Promise.all([mysqlServer(), redisServer()])
  })
  after(() => Promise.all([mysql.stop(), redis.stop()]))

  /** An app whose clock is ahead of that of this machine. */
  const ahead = (seconds: number, plugins: readonly Plugin[]) =>
    createTestHost({
      plugins: [...plugins, health()],
      env: { ...mysql.env, REDIS_URL: redis.url },
      clock: { now: () => Date.now() + seconds * 1000, monotonic: () => performance.now() },
    })
  const clockOf = async (host: TestHost) => {
    const { body, status } = await host.inject({ path: '/health/ready', headers: { accept: 'application/health+json' } })
    const [check] = body.checks?.['clock:offset'] ?? []
    return { status, check: check?.status, unit: check?.observedUnit, seconds: Math.round((check?.observedValue ?? 0) / 1000) }
  }
  const warnings = (host: TestHost) => host.logs.filter(({ level, msg }) => level === 'warn' && /clock/.test(msg ?? '')).length

  it('is not ready when it is 400 s ahead of Redis and MariaDB, and says so once', async () => {
    const host = await ahead(400, [database(), kv()])
    assert.deepEqual(await clockOf(host), { status: 503, check: 'fail', unit: 'ms', seconds: 400 })
    await clockOf(host)
    assert.equal(warnings(host), 1)
    await host.stop()
  })

  it('is ready within the window, and while it can be compared with one store only', async () => {
    const near = await ahead(-200, [database(), kv()])
    assert.deepEqual(await clockOf(near), { status: 200, check: 'pass', unit: 'ms', seconds: -200 })
    assert.equal(warnings(near), 0)
    await near.stop()
    const single = await ahead(-400, [kv()])
    assert.deepEqual(await clockOf(single), { status: 200, check: 'warn', unit: 'ms', seconds: -400 })
    assert.equal(warnings(single), 1)
    await single.stop()
  })

  it('is not ready when another node agrees with the only store', async () => {
    const right = await ahead(0, [kv(), cluster()])
    assert.deepEqual((await clockOf(right)).status, 200)
    const wrong = await ahead(400, [kv(), cluster()])
    assert.deepEqual(await clockOf(wrong), { status: 503, check: 'fail', unit: 'ms', seconds: 400 })
    assert.deepEqual((await clockOf(right)).status, 200)
    await Promise.all([wrong.stop(), right.stop()])
  })
})
