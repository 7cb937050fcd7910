import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cluster, database, kv, ops, queues, workers } from 'zin/plugins'
import { workersService } from 'zin/plugins/workers'
import { createTestHost, describePlugin } from 'zin/testing'
import { slowJobs } from './index.js'

const needed = () => [database(), kv(), cluster(), queues(), ops(), workers()]

describePlugin(needed, slowJobs, { readme: new URL('./README.md', import.meta.url) })

describe('slow jobs', () => {
  it('are listed, prevent their worker from starting when there are too many, and can be deleted', async () => {
    let done = (): void => {}
    const completed = new Promise<void>((resolve) => {
      done = resolve
    })
    const app = await createTestHost({
      plugins: [...needed(), slowJobs({ thresholdMs: 0, refuseStartAt: 1 })],
      hooks: { onJobComplete: () => done() },
    })
    try {
      const { create, enqueue, start, stop } = app.service(workersService)
      await create({ name: 'sleepy', queueName: 'sleepy', processor: () => 'done' })
      await start('sleepy')
      const { id } = await enqueue('sleepy', {})
      await completed
      const { jobs } = (await app.inject({ method: 'GET', path: '/api/slow-jobs' })).body as { jobs: { worker: string; job: string }[] }
      assert.deepEqual(
        jobs.map(({ worker, job }) => [worker, job]),
        [['sleepy', id]],
      )

      await stop('sleepy')
      await assert.rejects(start('sleepy'), /slow jobs/)
      assert.equal((await app.inject({ method: 'DELETE', path: '/api/slow-jobs', headers: { 'x-requested-with': 'test' } })).status, 200)
      assert.equal((await start('sleepy')).worker.state, 'running')
    } finally {
      await app.stop()
    }
  })
})
