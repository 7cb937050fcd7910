import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { ZinError } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { type Operation, type WorkerProcessor, type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

const redis = { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }

/** The services of processes that depend on messages between them, without polling. */
async function processes(t: TestContext, count: number, name: string, processor: WorkerProcessor): Promise<readonly Workers[]> {
  const boot = async () => {
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers({ processors: { [name]: processor } })],
      env: {
        ...redis,
        WORKER_PERSISTENCE_DRIVER: 'kvstore',
        WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
        CLUSTER_NAME: name,
        WORKER_AUTO_START: 'true',
        WORKER_INTERVAL_MS: '60000',
        CLUSTER_HEARTBEAT_MS: '60000',
      },
    })
    t.after(() => host.stop())
    return host.service(workersService)
  }
  return Promise.all(Array.from({ length: count }, boot))
}

describe('workers of several processes', { timeout: 45_000 }, () => {
  it('are changed at once after a halted rollout, and take the version when it is activated again', async (t) => {
    const name = `halted-${randomUUID().slice(0, 8)}`
    const services = await processes(t, 3, name, () => 1)
    const service = services[0] as Workers
    let healthy = false
    for (const one of services) one.registerHealthCheck(`${name}@2.0.0`, () => ({ healthy }))
    const counts = ({ operation }: Awaited<ReturnType<typeof service.stop>>) => [operation.applied.length, operation.failed.length]
    const versions = async () => (await service.nodesOf(name)).map(({ version }) => version)
    const waitMs = 30_000
    await service.create({ name, queueName: name }, { waitMs })
    await service.registerVersion(name, { version: '2.0.0' })
    let operation = ''
    await assert.rejects(service.activate(name, '2.0.0', { waitMs }), (error: ZinError) => {
      assert.deepEqual([error.code, error.status], ['VERSION_UNHEALTHY', 409])
      assert.match(error.message, /the rollout halted at .*: 0 of 3 nodes run 2\.0\.0/)
      operation = (error.details as { operation: Operation }).operation.id
      return true
    })
    const outcome = async () => {
      const { state, applied, failed } = await service.operation(name, operation)
      return [state, applied.length, failed.length]
    }
    assert.deepEqual(await outcome(), ['halted', 0, 1])
    let told = 0
    const unlisten = service.events(({ type }) => (type === 'status' ? told++ : undefined))
    assert.deepEqual(counts(await service.update(name, { concurrency: 7 }, { waitMs })), [3, 0])
    assert.deepEqual(counts(await service.pause(name, { waitMs })), [3, 0])
    assert.deepEqual(counts(await service.resume(name, { waitMs })), [3, 0])
    unlisten()
    assert.ok(told <= 30, `those that wait told each other ${told} times that there is nothing new`)
    assert.deepEqual(counts(await service.restart(name, { waitMs })), [3, 0])
    assert.deepEqual(await outcome(), ['halted', 0, 1])
    assert.deepEqual(await versions(), ['1.0.0', '1.0.0', '1.0.0'])
    healthy = true
    assert.deepEqual(counts(await service.activate(name, '2.0.0', { waitMs })), [3, 0])
    assert.deepEqual(await versions(), ['2.0.0', '2.0.0', '2.0.0'])
    await service.remove(name)
  })

  it('run the version of a worker that was created again, whatever the removed one with the same name still runs', async (t) => {
    const name = `again-${randomUUID().slice(0, 8)}`
    const [bothBegan, release] = [signal(), signal()]
    let began = 0
    const services = await processes(t, 2, name, async () => {
      if (++began === 2) bothBegan.fire()
      await release.promise
    })
    const service = services[0] as Workers
    await service.create({ name, queueName: name, concurrency: 1 })
    await service.enqueue(name, null)
    await service.enqueue(name, null)
    await bothBegan.promise
    await service.remove(name, { waitMs: 0 })
    await service.create({ name, queueName: name, version: '2.0.0' }, { waitMs: 0 })
    release.fire()
    const { operation } = await service.update(name, { concurrency: 2 }, { waitMs: 30_000 })
    assert.equal(operation.applied.length, 2)
    assert.deepEqual(
      (await service.nodesOf(name)).map(({ version, state }) => [version, state]),
      [
        ['2.0.0', 'running'],
        ['2.0.0', 'running'],
      ],
    )
    await service.remove(name)
  })
})
