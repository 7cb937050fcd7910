import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { database } from 'zin/plugins/database'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { type LostReplies, openRelay } from '../../scripts/testing/relay.js'
import { kv, kvService } from './index.js'
import { kvContract } from './kv.contract.js'
import { type RelayedRedis, redisCluster } from './testing/redis-cluster.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

kvContract('Redis', async () => ({
  host: { plugins: [kv({ prefix: `test-${randomUUID()}` })], env: { REDIS_URL: redisUrl } },
  pass: 'wait',
}))

describe('kv of two apps on one Redis', () => {
  it('keeps their keys separate, whatever alphabet their names use', async () => {
    const run = randomUUID()
    const start = (name: string) => createTestHost({ plugins: [kv()], env: { REDIS_URL: redisUrl, APP_NAME: `${name}${run}` } })
    const [one, two] = await Promise.all([start('商店'), start('订单')])
    await one.service(kvService).set('a', '1')
    assert.equal(await two.service(kvService).get('a'), null)
    await Promise.all([one.stop(), two.stop()])
  })
})

describe('kv on MySQL or MariaDB, with a separate database', () => {
  const { env, create, drop } = mysqlDatabase('kv')
  before(create)
  after(drop)
  kvContract('MySQL or MariaDB', async () => ({ host: { plugins: [database(), kv()], env }, pass: 'clock' }))
})

describe('kv when Redis becomes unreachable', () => {
  it('fails with a typed error while the connection is down, and recovers when it is back', async () => {
    const upstream = new URL(redisUrl)
    const proxy = await openRelay({ host: upstream.hostname, port: Number(upstream.port || 6379) })
    const host = await createTestHost({
      plugins: [kv({ prefix: `test-${randomUUID()}` })],
      env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    })
    const store = host.service(kvService)
    await store.set('a', '1')
    await proxy.cut()
    const error = await store.get('a').then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    assert.equal((error as { code?: string }).code, 'KV_UNAVAILABLE')
    assert.equal(store.isUnavailable(error), true)
    await proxy.listen()
    await once(store.redis as EventEmitter, 'ready')
    assert.equal(await store.get('a'), '1')
    await host.stop()
    await proxy.cut()
  })
})

for (const [name, open] of [
  ['Redis', openOne],
  ['a Redis Cluster', redisCluster],
] as const) {
  describe(`kv when a reply of ${name} is lost`, () => {
    it('rejects the call, which is applied once and not reported as the write of another caller', async () => {
      const lost: LostReplies = { count: 0 }
      const redis = await open(lost)
      const host = await createTestHost({ plugins: [kv({ prefix: `test-${randomUUID()}` })], env: { REDIS_URL: redis.url } })
      const store = host.service(kvService)
      const loses = async (key: string, call: () => Promise<unknown>): Promise<void> => {
        const before = lost.count
        lost.to = key
        await assert.rejects(call, { code: 'KV_OUTCOME_UNKNOWN', status: 503 })
        assert.equal(lost.count, before + 1)
      }
      const isReached = (key: string): Promise<boolean> =>
        store.get(key).then(
          () => true,
          () => false,
        )
      const valueAfter = async (key: string): Promise<string | null> => {
        await eventually('it is connected again', () => isReached(key))
        return store.get(key)
      }
      try {
        // The keys are on both nodes of a cluster.
        for (const n of [1, 2, 3, 4]) {
          const [nonce, swapped, count] = [`nonce-${n}`, `swapped-${n}`, `count-${n}`]
          await loses(nonce, () => store.set(nonce, '1', { ifAbsent: true, ttlMs: 60_000 }))
          assert.equal(await valueAfter(nonce), '1')
          assert.equal(await store.set(nonce, '1', { ifAbsent: true }), false)
          await store.set(swapped, 'old')
          await loses(swapped, () => store.set(swapped, 'new', { ifValue: 'old' }))
          assert.equal(await valueAfter(swapped), 'new')
          await loses(count, () => store.increment(count))
          assert.equal(await valueAfter(count), '1')
        }
      } finally {
        await host.stop()
        await redis.stop()
      }
    })
  })
}

/** The server of TEST_REDIS_URL. */
async function openOne(lost: LostReplies): Promise<RelayedRedis> {
  const { hostname, port, pathname } = new URL(redisUrl)
  const relay = await openRelay({ host: hostname, port: Number(port || 6379) }, lost)
  return { url: `redis://127.0.0.1:${relay.port}${pathname}`, stop: () => relay.cut() }
}
