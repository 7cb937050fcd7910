import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { declareContract } from './declare.contract.js'
import { workers, workersService } from './index.js'
import type { JobView } from './jobs/types.js'
import { pauseContract } from './pause.contract.js'
import { rebootContract } from './reboot.contract.js'
import { recreateContract } from './recreate.contract.js'
import { rolloutContract } from './rollout.contract.js'
import { workerSeamsContract } from './seams.contract.js'
import { sequencesContract } from './sequences.contract.js'
import { shutdownContract } from './shutdown.contract.js'
import { signal } from './testing/signal.js'
import { workersContract } from './workers.contract.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

workersContract('Redis', redis)
rebootContract('Redis', { env: redis, drivers: ['kvstore', 'db'] })
rolloutContract('Redis', { env: redis, drivers: ['kvstore', 'db'] })
declareContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })
pauseContract('Redis', redis)
recreateContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })
shutdownContract('Redis', redis)
sequencesContract('Redis', redis)
workerSeamsContract('Redis', { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore' })

describe('workers of two processes on one Redis', () => {
  it('stop again where they ran, if their creation had to be withdrawn', async () => {
    const name = `withdrawn-${randomUUID().slice(0, 8)}`
    const env = {
      ...redis,
      WORKER_PERSISTENCE_DRIVER: 'kvstore',
      WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
      CLUSTER_NAME: name,
      WORKER_AUTO_START: 'true',
    }
    const processors = { [name]: () => 1 }
    const boot = (roles: readonly ('http' | 'worker')[]) =>
      createTestHost({ plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors })], env, roles })
    const http = await boot(['http'])
    const hosts = [http]
    try {
      // The third read of the list of places, after the worker is stored, fails once another process runs the worker.
      const [isStored, runs] = [signal(), signal()]
      let reads = 0
      const store = http.service(kvService) as { get: (key: string) => Promise<string | null> }
      const get = store.get.bind(store)
      store.get = async (key) => {
        if (!key.endsWith(':places') || ++reads < 3) return get(key)
        isStored.fire()
        await runs.promise
        throw new Error('the list cannot be read')
      }
      const refused = assert.rejects(http.service(workersService).create({ name, queueName: name }), /the list cannot be read/)
      await isStored.promise
      const consumer = await boot(['worker'])
      hosts.push(consumer)
      const { local, list } = consumer.service(workersService)
      await eventually('it runs', () => local.list().some(({ state }) => state === 'running'))
      runs.fire()
      await refused
      await eventually('it has ended', () => local.list().length === 0)
      assert.equal((await list()).pagination.total, 0)
    } finally {
      await Promise.all(hosts.map((host) => host.stop()))
    }
  })

  it('run where jobs are consumed, when another process created them', async () => {
    const name = `shared-${randomUUID().slice(0, 8)}`
    const env = { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore', WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name, CLUSTER_NAME: name }
    const plugins = () => [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [name]: (job) => job.data + 1 } })]
    let done: (result: unknown) => void = () => undefined
    const result = new Promise((resolve) => {
      done = resolve
    })
    const http = await createTestHost({ plugins: plugins(), env, roles: ['http'] })
    const consumer = await createTestHost({
      plugins: plugins(),
      env,
      roles: ['worker'],
      hooks: { onJobComplete: (_name, _job, value) => done(value) },
    })
    try {
      const service = http.service(workersService)
      await service.create({ name, queueName: name })
      const { operation, worker } = await service.start(name)
      assert.deepEqual([operation.targets.length, operation.applied, worker.state], [1, operation.targets, 'running'])
      await service.enqueue(name, 41)
      assert.equal(await result, 42)
      assert.equal((await consumer.service(workersService).status(name)).state, 'running')
      await service.remove(name)
    } finally {
      await http.stop()
      await consumer.stop()
    }
  })

  it('take a version whose function only the other process has', async (t) => {
    const name = `apart-${randomUUID().slice(0, 8)}`
    const env = { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore', WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name, CLUSTER_NAME: name }
    const boot = async (role: 'http' | 'worker') => {
      const host = await createTestHost({ plugins: [database(), kv(), cluster(), queues(), ops(), workers()], env, roles: [role] })
      t.after(() => host.stop())
      return host.service(workersService)
    }
    const [http, consumer] = [await boot('http'), await boot('worker')]
    await consumer.create({ name, queueName: name, processor: () => 1 })
    await consumer.registerVersion(name, { version: '2.0.0', processor: () => 2 })
    await http.start(name)
    const { operation, worker } = await http.activate(name, '2.0.0')
    assert.deepEqual([operation.targets.length, operation.applied, worker.version], [1, operation.targets, '2.0.0'])
    await http.remove(name)
  })

  it('report a job that failed before it ran with its original data', async (t) => {
    const name = `sealed-${randomUUID().slice(0, 8)}`
    let failed: (job: JobView, error: Error) => void = () => undefined
    const failure = new Promise<{ job: JobView; error: Error }>((resolve) => {
      failed = (job, error) => resolve({ job, error })
    })
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [name]: () => assert.fail('it must not run') } })],
      env: { ...redis, WORKER_PERSISTENCE_DRIVER: 'kvstore', WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name, CLUSTER_NAME: name },
      hooks: {
        transformJobData: async (data) => ({ sealed: JSON.stringify(data) }),
        restoreJobData: async (data) => JSON.parse((data as { sealed: string }).sealed),
        onJobFailed: (_worker, job, error) => failed(job, error),
      },
    })
    t.after(() => host.stop())
    const service = host.service(workersService)
    await service.create({ name, queueName: name })
    const { id } = await service.enqueue(name, { card: '4111' })
    // As BullMQ marks a job that stalled too often.
    const client = new Redis(redis.REDIS_URL)
    t.after(() => client.disconnect())
    await client.hset(host.service(queuesService).queue(name).toKey(id), 'defa', 'job stalled more than allowable limit')
    await service.start(name)
    const { job, error } = await failure
    assert.deepEqual([job.id, job.data, error.message], [id, { card: '4111' }, 'job stalled more than allowable limit'])
  })

  it('act independently of each other with WORKER_CLUSTER_MODE=false', async (t) => {
    const name = `alone-${randomUUID().slice(0, 8)}`
    const boot = async () => {
      const host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [name]: () => 1 } })],
        env: {
          ...redis,
          WORKER_PERSISTENCE_DRIVER: 'kvstore',
          WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
          CLUSTER_NAME: name,
          WORKER_CLUSTER_MODE: 'false',
        },
      })
      t.after(() => host.stop())
      return host.service(workersService)
    }
    const [first, second] = [await boot(), await boot()]
    await first.create({ name, queueName: name })
    for (const service of [first, second]) {
      const [node, ...others] = await service.nodes()
      assert.equal(others.length, 0)
      const { operation, worker } = await service.start(name)
      assert.deepEqual([operation.targets, operation.applied, worker.state], [[node?.id], [node?.id], 'running'])
    }
    const stopped = await first.stop(name)
    assert.deepEqual([stopped.worker.state, stopped.operation.applied.length], ['stopped', 1])
    assert.deepEqual(
      second.local.list().map(({ state }) => state),
      ['running'],
    )
    await second.stop(name)
    await first.remove(name)
  })

  it('see changes of each other by reading the stored workers again, at the interval of WORKER_INTERVAL_MS', async (t) => {
    const name = `read-${randomUUID().slice(0, 8)}`
    const boot = async (interval: string) => {
      const host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [name]: () => 1 } })],
        env: {
          ...redis,
          WORKER_PERSISTENCE_DRIVER: 'kvstore',
          WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
          CLUSTER_NAME: name,
          WORKER_CLUSTER_MODE: 'false',
          WORKER_INTERVAL_MS: interval,
        },
      })
      t.after(() => host.stop())
      return host.service(workersService)
    }
    const [first, often, rarely] = [await boot('60000'), await boot('200'), await boot('60000')]
    await first.create({ name, queueName: name })
    for (const service of [first, often, rarely]) await service.start(name)
    const running = (service: typeof first): boolean => service.local.list().some(({ state }) => state === 'running')
    await first.stop(name)
    await eventually('the one that reads often has stopped', () => !running(often))
    assert.equal(running(rarely), true)
    await rarely.stop(name)
    await first.remove(name)
  })
})
