import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { workers, workersService } from './index.js'

describe('a scaled worker', () => {
  it('runs more jobs in addition to the running ones, and keeps the configured number', async () => {
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      env: { WORKER_AUTO_START: 'true' },
    })
    const service = host.service(workersService)
    const running: (() => void)[] = []
    let heard: () => void = () => undefined
    const run = async () => {
      const end = new Promise<void>((resolve) => running.push(resolve))
      heard()
      await end
    }
    const runs = async (count: number) => {
      while (running.length < count) await new Promise<void>((resolve) => (heard = resolve))
    }
    await service.create({ name: 'grows', queueName: 'grows', processor: run, concurrency: 1 })
    for (let job = 0; job < 3; job++) await service.enqueue('grows', job)
    await runs(1)
    const scaled = await service.scale('grows', 3, { reason: 'two jobs wait' })
    assert.equal(scaled.message, 'Worker "grows" is scaled to 3 jobs at a time')
    await runs(3)
    assert.deepEqual([(await service.metrics('grows')).counts.active, host.recorded('onWorkerStop')], [3, []])
    const [listed] = (await service.list()).workers
    const { concurrency, scaled: shown } = await service.status('grows')
    assert.deepEqual([listed?.concurrency, listed?.scaled, concurrency], [1, shown, 3])
    assert.deepEqual([shown?.concurrency, shown?.reason], [3, 'two jobs wait'])

    await service.update('grows', { concurrency: 2 })
    assert.equal((await service.status('grows')).concurrency, 3)
    await service.scale('grows', null)
    const back = await service.status('grows')
    assert.deepEqual([back.concurrency, back.scaled], [2, undefined])
    assert.equal((await service.nodesOf('grows'))[0]?.concurrency, 2)
    for (const end of running) end()
    await host.stop()
  })
})
