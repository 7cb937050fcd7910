import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

/** A worker with the name of a removed one that is still finishing its jobs. Names are unique per run. */
export function recreateContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`a worker created again on ${title}`, { timeout: 45_000 }, () => {
    let host: TestHost
    let service: Workers
    let completed = (_worker: string, _result: unknown): void => undefined
    before(async () => {
      host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
        hooks: { onJobComplete: (worker, _job, result) => completed(worker, result) },
        // No heartbeat or poll helps.
        env: { ...env, WORKER_AUTO_START: 'true', WORKER_INTERVAL_MS: '60000', CLUSTER_HEARTBEAT_MS: '60000' },
      })
      service = host.service(workersService)
    })
    after(() => host.stop())

    it('starts when the removed one has finished its jobs, and is not erased with it', async () => {
      const name = `again-${randomUUID().slice(0, 8)}`
      const [began, release, worked] = [signal(), signal(), signal<unknown>()]
      const results: unknown[] = []
      completed = (worker, result) => {
        if (worker === name && results.push(result) === 2) worked.fire(results)
      }
      await service.create({
        name,
        queueName: name,
        async processor() {
          began.fire()
          await release.promise
          return 'removed'
        },
      })
      await service.enqueue(name, null)
      await began.promise
      await service.remove(name, { waitMs: 0 })
      await service.create({ name, queueName: name, version: '2.0.0', processor: () => 'created again' }, { waitMs: 0 })
      await service.enqueue(name, null)
      assert.deepEqual(await service.nodesOf(name), [])
      release.fire()
      assert.deepEqual(await worked.promise, ['removed', 'created again'])
      const { operation } = await service.update(name, { concurrency: 2 })
      assert.deepEqual(operation.applied, operation.targets)
      const [here] = await service.nodesOf(name)
      assert.deepEqual([here?.state, here?.version], ['running', '2.0.0'])
      await service.remove(name)
    })

    it('keeps its shared state when the removal of the earlier one ends', async () => {
      const name = `again-${randomUUID().slice(0, 8)}`
      const [began, release] = [signal(), signal()]
      const processor = async () => {
        began.fire()
        await release.promise
      }
      await service.create({ name, queueName: name, processor })
      await service.enqueue(name, null)
      await began.promise
      const removal = service.remove(name)
      // The earlier one is removed from the store at once; the removal waits for its job.
      await eventually('the name is free', async () => (await service.list()).workers.every((worker) => worker.name !== name))
      await service.create({ name, queueName: name, processor: () => 1 }, { waitMs: 0 })
      const { operation } = await service.update(name, { concurrency: 2 }, { waitMs: 0 })
      release.fire()
      await removal
      assert.equal((await service.operation(name, operation.id)).id, operation.id)
      await service.remove(name)
    })
  })
}
