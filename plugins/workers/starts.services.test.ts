import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { type WorkersOptions, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

const shared = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'

async function boot(t: TestContext, processors: NonNullable<WorkersOptions['processors']>, env: Readonly<Record<string, string>>) {
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors })],
    env: { WORKER_AUTO_START: 'true', ...env },
  })
  t.after(() => host.stop())
  return { host, service: host.service(workersService) }
}

describe('a start', { timeout: 60_000 }, () => {
  it('is retried while Redis does not respond', async (t) => {
    const redis = await redisServer()
    t.after(() => redis.stop())
    const { service } = await boot(t, { task: () => 'done' }, { REDIS_URL: redis.url, WORKER_CONNECTION_TIMEOUT: '200' })
    await service.create({ name: 'task', queueName: 'task', autoStart: false })
    redis.hang()
    t.after(() => redis.resume())
    const failed = signal<string | undefined>()
    const runs = signal()
    const unlisten = service.events(({ type, state, error }) => {
      if (type === 'status' && state === 'starting' && error !== undefined) failed.fire(error)
      if (type === 'status' && state === 'running') runs.fire()
    })
    t.after(unlisten)
    const { operation } = await service.start('task', { waitMs: 0 })
    assert.equal(operation.state, 'pending')
    assert.match((await failed.promise) ?? '', /did not start: the queue store cannot be reached/)
    assert.equal((await service.operation('task', operation.id)).state, 'pending')
    redis.resume()
    await runs.promise
    const { state, lastError } = await service.get('task')
    assert.deepEqual([state, lastError], ['running', undefined])
    assert.equal((await service.operation('task', operation.id)).state, 'applied')
  })

  it('is no longer retried after a stop', async (t) => {
    const redis = await redisServer()
    t.after(() => redis.stop())
    const { service } = await boot(t, { task: () => 'done' }, { REDIS_URL: redis.url, WORKER_CONNECTION_TIMEOUT: '200' })
    await service.create({ name: 'task', queueName: 'task', autoStart: false })
    redis.hang()
    t.after(() => redis.resume())
    await service.start('task', { waitMs: 0 })
    await eventually('the first attempt failed', async () => (await service.get('task')).lastError !== undefined)
    assert.equal((await service.stop('task')).worker.state, 'stopped')
    assert.equal((await service.get('task')).lastError, undefined)
  })

  it('that fails in one process is taken over by another, if the placement requires it', async (t) => {
    const prefix = `starts-${randomUUID().slice(0, 8)}`
    const env = {
      REDIS_URL: shared,
      WORKER_PERSISTENCE_DRIVER: 'kvstore',
      WORKER_PERSISTENCE_REDIS_KEY_PREFIX: prefix,
      CLUSTER_NAME: prefix,
    }
    const names = Array.from({ length: 8 }, (_, index) => `${prefix}-${index}`)
    await boot(t, {}, env)
    const { service } = await boot(t, Object.fromEntries(names.map((name) => [name, () => 1])), env)
    for (const name of names) await service.create({ name, queueName: name, placement: { nodes: 1 } })
    for (const name of names) {
      await eventually(`${name} runs`, async () => (await service.get(name)).state === 'running')
      const running = (await service.nodesOf(name)).filter(({ state }) => state === 'running')
      assert.deepEqual(
        running.map(({ node, placed }) => [node, placed]),
        [[service.local.node, true]],
      )
      await service.remove(name)
    }
  })
})
