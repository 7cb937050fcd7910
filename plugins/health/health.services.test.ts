import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
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
  const eventually = async (path: string, status: number) => {
    for (const end = performance.now() + 60_000; ; ) {
      const found = await get(path)
      if (found.status === status) return found
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
