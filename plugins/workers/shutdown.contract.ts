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
import { queues } from 'zin/plugins/queues'
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
  })
}
