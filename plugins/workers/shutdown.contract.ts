import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { type JobView, type WorkerProcessor, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

/** Running jobs at a shutdown of the app. Names are unique per run, so stores may be shared. */
export function shutdownContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`workers at a shutdown on ${title}`, { concurrency: true }, () => {
    for (const verb of ['stop', 'restart'] as const) {
      it(`release in time a job that a ${verb} already waits for`, async (t) => {
        const name = `${verb}-${randomUUID().slice(0, 8)}`
        const rootDir = await mkdtemp(join(tmpdir(), 'zin-workers-'))
        t.after(() => rm(rootDir, { recursive: true, force: true }))
        const began = signal()
        const ended = signal<JobView>()
        const boot = async (processor: WorkerProcessor) => {
          const host = await createTestHost({
            plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
            hooks: { onJobComplete: (worker, job) => (worker === name ? ended.fire(job) : undefined) },
            rootDir,
            dataDir: join(rootDir, 'data'),
            env: { ...env, WORKER_AUTO_START: 'true', WORKER_TIMEOUT: '600' },
            shutdown: { deadlineMs: 5_000 },
          })
          const service = host.service(workersService)
          await service.create({ name, queueName: name, processor })
          return { host, service }
        }
        const first = await boot(async (_job, _token, aborted) => {
          began.fire()
          if (aborted) await once(aborted, 'abort')
          throw new Error('aborted')
        })
        const { id } = await first.service.enqueue(name, null)
        await began.promise
        await first.service[verb](name, { waitMs: 0 })
        // It fails when a plugin hangs.
        await first.host.stop()

        const second = await boot(() => 'done')
        const job = await ended.promise
        assert.deepEqual([job.id, job.attempt], [id, 1])
        await second.host.stop()
      })
    }

    it('after an error that nothing caught charge the job whose code it is, name it in the log, and return the others unused', async (t) => {
      const name = `crash-${randomUUID().slice(0, 8)}`
      const rootDir = await mkdtemp(join(tmpdir(), 'zin-workers-'))
      t.after(() => rm(rootDir, { recursive: true, force: true }))
      const boot = (autoStart: boolean) =>
        createTestHost({
          plugins: [database(), kv(), cluster(), queues(), ops(), workers({ blameJobs: true })],
          rootDir,
          dataDir: join(rootDir, 'data'),
          env: { ...env, WORKER_AUTO_START: String(autoStart), WORKER_TIMEOUT: '1' },
          shutdown: { deadlineMs: 5_000 },
        })
      const first = await boot(true)
      const service = first.service(workersService)
      const begun: string[] = []
      const all = signal()
      const processor: WorkerProcessor = async (job) => {
        if (begun.push(job.name) === 2) all.fire()
        // As the handler of an uncaught exception does, in the context of the code that failed.
        if (job.name === 'culprit') setTimeout(() => void first.host.fail(new Error('a floating rejection')))
        await new Promise(() => undefined)
      }
      await service.create({
        name,
        queueName: name,
        processor,
        concurrency: 3,
        jobOptions: { attempts: 2, backoff: { type: 'fixed', delay: 60_000 } },
      })
      const innocent = [await service.enqueue(name, null), await service.enqueue(name, null)].map(({ id }) => id)
      await all.promise
      const culprit = await service.enqueue(name, null, { name: 'culprit' })
      while (!first.logs.some(({ level }) => level === 'fatal')) await new Promise((resolve) => setImmediate(resolve))
      const line = first.logs.find(({ level }) => level === 'fatal') as unknown as { workers: { failedJob: string; runningJobs: string[] } }
      assert.equal(line.workers.failedJob, `${name}:${culprit.id}`)
      assert.equal(line.workers.runningJobs.length, 3)
      await first.host.stop()

      const second = await boot(false)
      const stored = async (id: string) => {
        const { job, state } = (await second.service(queuesService).job(name, id)) ?? assert.fail(id)
        return [state, job.attemptsMade, job.stalledCounter, job.failedReason ?? '']
      }
      const [state, ...counts] = await stored(culprit.id)
      assert.deepEqual([state, counts[0], counts[1]], ['delayed', 1, 0])
      assert.match(String(counts[2]), /an error in this job that nothing caught: a floating rejection/)
      for (const id of innocent) {
        const [, ...unused] = await stored(id)
        assert.deepEqual(unused, [0, 0, ''])
        assert.equal((await second.service(queuesService).counts(name)).waiting, 2)
      }
      await second.host.stop()
    })
  })
}
