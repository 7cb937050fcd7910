import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createTestHost } from 'zin/testing'
import { deletionContract } from './deletion.contract.js'
import { queues, queuesService } from './index.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

deletionContract('Redis', async () => ({ plugins: [queues()], env: { REDIS_URL, APP_NAME: `test-${randomUUID()}` } }))

describe('deleted jobs in the keys of Redis', () => {
  it('expire while they are deleted, and leave nothing on jobs that are restored', async () => {
    const APP_NAME = `test-${randomUUID()}`
    const host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME } })
    const redis = new Redis(REDIS_URL)
    try {
      const service = host.service(queuesService)
      const { id = '' } = await service.add('q', 'x', { n: 1 }, { deduplication: { id: 'd' } })
      await (await service.job('q', id))?.job.log('a line')
      const before = await redis.hgetall(`{${APP_NAME}}:q:${id}`)
      await service.deleteJob('q', id, { batch: 'b', ms: 60_000 })
      const keys = await redis.keys(`{${APP_NAME}}-delet*`)
      assert.ok(keys.length >= 5, keys.join(', '))
      for (const key of keys) {
        const ms = await redis.pttl(key)
        assert.ok(ms > 0 && ms <= 120_000, `${key} expires in ${ms} ms`)
      }
      for await (const { restored } of service.restoreJobs('q', 'b')) assert.equal(restored, 1)
      assert.deepEqual(await redis.hgetall(`{${APP_NAME}}:q:${id}`), before)
    } finally {
      redis.disconnect()
      await host.stop()
    }
  })

  it('stay listed while they can be restored, even if later ones can be restored for a shorter time', async () => {
    const APP_NAME = `test-${randomUUID()}`
    const host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME } })
    const redis = new Redis(REDIS_URL)
    try {
      const service = host.service(queuesService)
      const [long, short] = await service.addBulk('q', [{ name: 'long' }, { name: 'short' }])
      await service.deleteJob('q', long?.id ?? '', { batch: 'long', ms: 600_000 })
      await service.deleteJob('q', short?.id ?? '', { batch: 'short', ms: 1_000 })
      for (const key of [`{${APP_NAME}}-deletions:q`, `{${APP_NAME}}-deletions:q:bytes`]) {
        const ms = await redis.pttl(key)
        assert.ok(ms > 600_000, `${key} expires in ${ms} ms`)
      }
    } finally {
      redis.disconnect()
      await host.stop()
    }
  })

  it('set the alarm of workers when a delayed job is restored', async () => {
    const APP_NAME = `test-${randomUUID()}`
    const host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME } })
    const redis = new Redis(REDIS_URL)
    try {
      const service = host.service(queuesService)
      const marker = `{${APP_NAME}}:q:marker`
      const { id = '', timestamp } = await service.add('q', 'x', {}, { delay: 60_000 })
      await service.deleteJob('q', id, { batch: 'b', ms: 60_000 })
      await redis.del(marker)
      for await (const { restored } of service.restoreJobs('q', 'b')) assert.equal(restored, 1)
      // Workers block until the lowest score of this key.
      assert.equal(Number(await redis.zscore(marker, '1')), timestamp + 60_000)
    } finally {
      redis.disconnect()
      await host.stop()
    }
  })
})
