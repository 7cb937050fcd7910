import assert from 'node:assert/strict'
import { it } from 'node:test'
import { queuesService } from 'zin/plugins/queues'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { connectRedis } from '../../scripts/testing/redis-client.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { workerErrors } from './errors.js'
import { workersService } from './index.js'
import { faultHost } from './testing/fault-scene.js'

/** Keys of a queue whose loss of type keeps jobs from being taken, or from ending. */
const keys = ['wait', 'active', 'delayed', 'prioritized', 'completed', 'meta']

it('a worker whose queue another program has broken says so, with a health below 50, and the workers of other queues go on', async (t) => {
  const clean = cleanUp(t)
  const redis = await redisServer()
  clean(() => redis.stop())
  const host = await faultHost(clean, { env: { REDIS_URL: redis.url } })
  const client = await connectRedis(redis.url, { name: 'other-program', keyPrefix: '' })
  clean(() => client.disconnect())
  const service = host.service(workersService)
  let done = 0
  for (const name of [...keys, 'fine']) {
    await service.create({ name: `has-${name}`, queueName: `has-${name}`, processor: async () => void done++ })
    await service.pause(`has-${name}`)
    await service.enqueue(`has-${name}`, 1)
  }
  for (const key of keys) await client.call('SET', host.service(queuesService).queue(`has-${key}`).toKey(key), 'text of another program')
  for (const name of [...keys, 'fine']) await service.resume(`has-${name}`)
  for (const key of keys) {
    const [says] = workerErrors.WORKER_QUEUE_BROKEN(`has-${key}`, '|').message.split('|')
    const saysSo = async () => (await service.get(`has-${key}`)).lastError?.startsWith(says ?? '') === true
    await eventually(`the worker with a broken "${key}" says so`, saysSo)
    const { score, terms } = await service.health(`has-${key}`)
    assert.ok(score < 50, `${key}: ${score}`)
    assert.ok(
      terms.some(({ reason }) => /WRONGTYPE/.test(reason)),
      key,
    )
  }
  await eventually('the other worker works', () => done > 0)
  assert.equal((await service.health('has-fine')).score, 100)
  const { body } = await host.inject({ path: '/health/ready', headers: { accept: 'application/health+json' } })
  assert.equal(body.checks['workers:responseTime'][0].status, 'warn')
})
