import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createTestHost, type TestHost } from 'zin/testing'
import { commandsDuring } from '../../scripts/testing/redis-monitor.js'
import { type Queues, queues, queuesService } from './index.js'
import { searchContract } from './search.contract.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

searchContract('Redis', async () => ({ env: { REDIS_URL, APP_NAME: `test-${randomUUID()}` } }))

describe('the index of declared fields on Redis', () => {
  const APP_NAME = `test-${randomUUID()}`
  const index = `{${APP_NAME}}-search:orders`
  let host: TestHost
  let service: Queues
  let redis: Redis
  before(async () => {
    host = await createTestHost({ plugins: [queues({ search: { orders: ['customer.id'] } })], env: { REDIS_URL, APP_NAME } })
    service = host.service(queuesService)
    redis = new Redis(REDIS_URL)
  })
  after(async () => {
    redis.disconnect()
    await host.stop()
  })

  /** Commands on the keys of the app. */
  const commands = async (work: () => Promise<unknown>): Promise<number> => {
    const sent = await commandsDuring(REDIS_URL, work)
    return sent.filter(({ args }) => args.some((arg) => arg.includes(APP_NAME))).length
  }

  it('costs one command per added job, one per bulk, and none for a queue without fields', async () => {
    const data = { customer: { id: 'c' } }
    for (const queue of ['orders', 'plain']) await service.add(queue, 'x', data)
    const added = async (queue: string) => commands(() => service.add(queue, 'x', data))
    const bulk = async (queue: string) =>
      commands(() =>
        service.addBulk(
          queue,
          Array.from({ length: 50 }, () => ({ name: 'x', data })),
        ),
      )
    assert.equal((await added('orders')) - (await added('plain')), 1)
    assert.equal((await bulk('orders')) - (await bulk('plain')), 1)
  })

  it('has no more than about two entries per existing job, however many have been removed', async () => {
    for (let round = 0; round < 20; round++) {
      const jobs = await service.addBulk(
        'orders',
        Array.from({ length: 100 }, (_, n) => ({ name: 'x', data: { customer: { id: `${round}-${n}` } } })),
      )
      if (round > 0) await Promise.all(jobs.map((job) => job.remove()))
    }
    const { waiting } = await service.counts('orders')
    assert.ok((await redis.zcard(index)) <= 2 * waiting + 200, `${await redis.zcard(index)} entries for ${waiting} jobs`)
    const { jobs } = await service.find('orders', { 'customer.id': '0-99' }, { limit: 1 })
    assert.equal(jobs.length, 1)
  })

  it('contains no values, and expires when nothing is added for a long time', async () => {
    await service.add('orders', 'x', { customer: { id: 'a-name' } })
    const entries = await redis.zrange(index, '0', '-1')
    assert.ok(entries.every((entry) => !entry.includes('a-name')))
    for (const key of [index, `${index}:cursor`]) assert.ok((await redis.pttl(key)) > 86_400_000, key)
  })
})
