import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { type Workers, workers, workersService } from './index.js'

/** A paused worker takes no jobs; another one shares its queue and does them. Names are unique per run, so stores may be shared. */
export function pauseContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`a paused worker on ${title}`, () => {
    let host: TestHost
    let service: Workers
    /** Of the running test. */
    let onStart = async (_worker: string): Promise<void> => undefined
    let onComplete = (_result: unknown): void => undefined
    before(async () => {
      host = await createTestHost({
        plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
        hooks: {
          onWorkerStart: (worker) => onStart(worker),
          onJobComplete: (_worker, _job, result) => onComplete(result),
        },
        env: { ...env, WORKER_AUTO_START: 'true' },
      })
      service = host.service(workersService)
    })
    after(() => host.stop())

    const scene = () => {
      const [paused, other] = ['paused', 'other'].map((name) => `${name}-${randomUUID().slice(0, 8)}`) as [string, string]
      const state = { onStart: async (): Promise<void> => undefined, done: [] as unknown[], told: (): void => undefined }
      onStart = async (worker) => (worker === paused ? state.onStart() : undefined)
      onComplete = (result) => {
        state.done.push(result)
        state.told()
      }
      const create = (name: string, result: string) => service.create({ name, queueName: paused, processor: () => result })
      /** Resolves when this many jobs are done. */
      const done = (count: number): Promise<void> =>
        new Promise((resolve) => {
          state.told = () => {
            if (state.done.length >= count) resolve()
          }
          state.told()
        })
      return { state, done, paused, startOther: () => create(other, 'other'), startPaused: () => create(paused, 'paused') }
    }

    it('does not do the job that it was waiting for when it was paused', async () => {
      const { state, done, paused, startOther, startPaused } = scene()
      await startPaused()
      await service.enqueue(paused, null)
      await done(1)
      // While this one connects, the first one starts waiting.
      await startOther()
      await service.pause(paused)
      const jobs = await Promise.all(Array.from({ length: 10 }, () => service.enqueue(paused, null)))
      await done(11)
      assert.deepEqual(state.done, ['paused', ...jobs.map(() => 'other')])
      for (const { id } of jobs) assert.equal((await service.job(paused, id)).attempts, 1)
      await service.resume(paused)
      assert.equal((await service.get(paused)).state, 'running')
    })

    // On other stores, each consumer is notified of each job, and again of a released one.
    if (env.REDIS_URL !== undefined) {
      it('takes no job that is added after it was paused, and takes jobs again when it is resumed', async () => {
        const { state, done, paused, startOther, startPaused } = scene()
        await startPaused()
        await service.enqueue(paused, null)
        await done(1)
        // While this one connects, the first one starts waiting.
        const other = await startOther()
        await service.pause(paused)
        const { id } = await service.enqueue(paused, null, { priority: 5 })
        await done(2)
        const job = await host.service(queuesService).queue(paused).getJob(id)
        assert.deepEqual([state.done, job?.attemptsStarted], [['paused', 'other'], 1])
        await service.remove(other.name)
        await service.resume(paused)
        await service.enqueue(paused, null)
        await done(3)
        assert.deepEqual(state.done, ['paused', 'other', 'paused'])
      })
    }

    it('does no job after a restart, and does them when it is resumed', async () => {
      const { state, done, paused, startOther, startPaused } = scene()
      await startPaused()
      await service.pause(paused)
      await service.enqueue(paused, null)
      state.onStart = async () => {
        const { name } = await startOther()
        await done(1)
        await service.remove(name)
      }
      const { worker } = await service.update(paused, { rateLimit: { max: 1000, duration: 1000 } })
      assert.deepEqual([worker.state, state.done], ['paused', ['other']])
      await service.enqueue(paused, null)
      await service.resume(paused)
      await done(2)
      assert.deepEqual(state.done, ['other', 'paused'])
    })
  })
}
