import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

/** Ends when the requested number of jobs have written to its folder. */
const meeting = `
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
export const ZinTrustProcessor = async (job) => {
  const { folder, together } = job.data
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, job.id), '')
  while (readdirSync(folder).length < together) await new Promise((resolve) => setTimeout(resolve, 10))
}`

describe('versions of a worker', { timeout: 120_000 }, () => {
  let rootDir: string
  let host: TestHost
  let service: Workers
  let began = signal()
  let completed = (_id: string): void => undefined
  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-versions-'))
    await writeProcessors(rootDir, { 'meeting.mjs': meeting })
    host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      hooks: { onJobStart: () => began.fire(), onJobComplete: (_worker, job) => completed(job.id) },
      rootDir,
      env: { WORKER_AUTO_START: 'true' },
    })
    service = host.service(workersService)
  })
  after(async () => {
    await host.stop()
    await rm(rootDir, { recursive: true, force: true })
  })

  it('get as many threads as the worker has now when a rollback reactivates them while they still run a job', async () => {
    const name = 'rolled-back'
    const processor = 'meeting.mjs'
    await service.create({ name, queueName: name, processor, isolation: 'thread', concurrency: 1 })
    await service.registerVersion(name, { version: '1.1.0', processor })
    const folders = { one: join(rootDir, 'one'), two: join(rootDir, 'two') }
    began = signal()
    const held = await service.enqueue(name, { folder: folders.one, together: 2 })
    await began.promise
    await service.activate(name, '1.1.0')
    await service.update(name, { concurrency: 3 })
    await service.activate(name, '1.0.0')

    const ids = new Set<string>()
    const done = (count: number): Promise<void> =>
      new Promise((resolve) => {
        completed = (id) => {
          if (ids.add(id).size === count) resolve()
        }
      })
    const both = done(2)
    const met = await Promise.all([1, 2].map(() => service.enqueue(name, { folder: folders.two, together: 2 })))
    await both
    assert.deepEqual([...ids].sort(), met.map(({ id }) => id).sort())
    const all = done(3)
    await writeFile(join(folders.one, 'another'), '')
    await all
    assert.ok(ids.has(held.id))
  })

  it('take no jobs before their health check succeeds, even when they are activated while the worker is stopped', async () => {
    const name = 'unwell'
    await service.create({ name, queueName: name, processor: () => 1 })
    await service.registerVersion(name, { version: '2.0.0', processor: () => 2, healthCheck: () => ({ healthy: false }) })
    await service.stop(name)
    const { message } = await service.activate(name, '2.0.0')
    assert.match(message, /is activated; the worker is stopped/)
    const started = await service.start(name)
    assert.match(started.message, /is running; the rollout of version 2\.0\.0 is halted/)
    assert.equal(started.worker.version, '1.0.0')
    assert.equal(service.local.list().find((worker) => worker.name === name)?.version, '1.0.0')
  })

  it('fall back on the last version that was not refused', async () => {
    const name = 'fallback'
    await service.create({ name, queueName: name, processor: () => 1 })
    for (const version of ['2.0.0', '3.0.0']) {
      await service.registerVersion(name, { version, processor: () => version, healthCheck: () => ({ healthy: false }) })
      await assert.rejects(service.activate(name, version), { code: 'VERSION_UNHEALTHY' })
    }
    const { worker } = await service.restart(name)
    assert.deepEqual([worker.version, worker.desiredVersion, worker.rollout?.state], ['1.0.0', '3.0.0', 'halted'])
    assert.equal((await service.activate(name, '1.0.0')).worker.rollout, undefined)
    assert.equal((await service.get(name)).lastError, undefined)
  })
})
