import assert from 'node:assert/strict'
import { it } from 'node:test'
import { health } from 'zin/plugins/health'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { connectRedis } from '../../scripts/testing/redis-client.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { queues, queuesService } from './index.js'

it('a Redis whose memory is full is a warning of readiness, and refuses jobs and flows with 503', async (t) => {
  const clean = cleanUp(t)
  const redis = await redisServer()
  clean(() => redis.stop())
  const host = await createTestHost({ plugins: [health(), queues()], env: { REDIS_URL: redis.url } })
  clean(() => host.stop())
  const service = host.service(queuesService)
  const client = await connectRedis(redis.url, { name: 'full', keyPrefix: '' })
  clean(() => client.disconnect())
  const ready = async () => (await host.inject({ path: '/health/ready', headers: { accept: 'application/health+json' } })).body.status
  await service.add('mail', 'letter', {})
  assert.equal(await ready(), 'pass')
  await client.call('CONFIG', 'SET', 'maxmemory', '1')
  assert.equal(await ready(), 'warn')
  const refused = { code: 'QUEUE_CONNECTION_ERROR', status: 503 }
  await assert.rejects(service.add('mail', 'letter', {}), refused)
  const child = { name: 'page', queueName: 'mail', data: {} }
  await assert.rejects(service.addFlow({ name: 'book', queueName: 'mail', data: {}, children: [child] }), refused)
  await client.call('CONFIG', 'SET', 'maxmemory', '0')
  assert.equal(await ready(), 'pass')
})
