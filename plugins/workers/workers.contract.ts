import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { deny } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type JobView, percentile, type WorkerProcessor, type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

/** The behaviour of the plugin, over HTTP and with real jobs. Queue names are unique per test, so stores may be shared. */
export function workersContract(title: string, env: Readonly<Record<string, string>>): void {
  const plugins = () => [database(), kv(), cluster(), queues(), ops()]
  const run = randomUUID().slice(0, 8)
  let count = 0
  let name = ''
  let queue = ''
  beforeEach(() => {
    count++
    name = `worker-${run}-${count}`
    queue = `queue-${run}-${count}`
  })

  describe(`workers on ${title}`, () => {
    let host: TestHost
    let service: Workers
    let rootDir: string
    /** Listeners that tests replace. */
    let finished = (_name: string, _job: JobView, _outcome: unknown): void => undefined
    let gate: (worker: string) => ReturnType<typeof deny> | undefined = () => undefined

    /** Boots on the same data again. */
    const boot = async (timeout: string): Promise<void> => {
      host = await createTestHost({
        plugins: [...plugins(), workers({ processors: { 'by-path': 'double.mjs' } })],
        hooks: {
          onJobStart: () => undefined,
          onJobComplete: (worker, job, result) => finished(worker, job, result),
          onJobFailed: (worker, job, error) => finished(worker, job, error),
          onWorkerStart: () => undefined,
          onWorkerStop: () => undefined,
          beforeWorkerStart: (worker) => gate(worker),
          transformJobOptions: (options) => (options.name === 'make-it-invalid' ? { ...options, attempts: 0 } : undefined),
          resolveProcessor: (worker) => (worker.startsWith('hooked') ? () => 'from the hook' : undefined),
        },
        rootDir,
        dataDir: join(rootDir, 'data'),
        env: { ...env, WORKER_AUTO_START: 'true', WORKER_TIMEOUT: timeout },
      })
      service = host.service(workersService)
    }

    before(async () => {
      rootDir = await mkdtemp(join(tmpdir(), 'zin-workers-'))
      await writeProcessors(rootDir, {
        'double.mjs': 'export const ZinTrustProcessor = async (job) => ({ doubled: job.data.n * 2 })',
        'broken.mjs': 'throw new Error("broken on purpose")',
      })
      await boot('5')
    })
    after(async () => {
      await host.stop()
      await rm(rootDir, { recursive: true, force: true })
    })

    const call = (method: string, path: string, body?: unknown) =>
      host.inject({ method, path, headers: { 'x-requested-with': 'test' }, ...(body === undefined ? {} : { body }) })
    const create = (processor: WorkerProcessor, more: object = {}) => service.create({ name, queueName: queue, processor, ...more })
    /** The outcome of the next `n` attempts, by job id in order. */
    const outcomes = (n: number): Promise<{ job: JobView; outcome: unknown }[]> => {
      const { promise, fire } = signal<{ job: JobView; outcome: unknown }[]>()
      const seen: { job: JobView; outcome: unknown }[] = []
      finished = (worker, job, outcome) => {
        if (worker === name && seen.push({ job, outcome }) === n) fire(seen)
      }
      return promise
    }
    const names = (hook: string): unknown[] => host.recorded(hook).filter(([worker]) => worker === name)

    it('creates, starts, works, reports and stops a worker over HTTP', async () => {
      const made = await call('POST', '/api/workers/create', {
        name,
        queueName: queue,
        processor: 'double.mjs',
        concurrency: 2,
        autoStart: false,
      })
      assert.equal(made.status, 201, made.text)
      assert.equal(made.body.ok, true)
      assert.equal(made.body.worker.state, 'stopped')
      assert.equal((await call('POST', '/api/workers', { name, queueName: queue, processor: 'double.mjs' })).body.code, 'WORKER_EXISTS')

      const started = await call('POST', `/api/workers/${name}/start`)
      assert.equal(started.status, 200, started.text)
      assert.equal(started.body.worker.state, 'running')
      assert.equal(started.body.operation.generation, 2)
      assert.equal(started.body.operation.targets.length, 1)
      assert.deepEqual(started.body.operation.applied, started.body.operation.targets)
      assert.equal(names('onWorkerStart').length, 1)

      const all = outcomes(20)
      const ids: string[] = []
      for (let n = 0; n < 20; n++) {
        const added = await call('POST', `/api/workers/${name}/jobs`, { data: { n }, options: { priority: 'High' } })
        assert.equal(added.status, 202, added.text)
        assert.equal(added.body.job.queue, queue)
        ids.push(added.body.job.id)
      }
      await all
      const job = await call('GET', `/api/workers/${name}/jobs/${ids[7]}`)
      assert.equal(job.body.job.status, 'completed')
      assert.deepEqual(job.body.job.result, { doubled: 14 })
      assert.equal(job.body.job.attempts, 1)
      assert.equal(job.body.job.maxAttempts, 3)
      assert.ok(!job.text.includes('"data"'))

      const { body } = await call('GET', `/api/workers/${name}/status`)
      const { avgDuration, ...metrics } = body.status.metrics
      assert.deepEqual(
        { ...body.status, metrics },
        {
          name,
          state: 'running',
          version: '1.0.0',
          desiredVersion: '1.0.0',
          health: 100,
          queue,
          queuePaused: false,
          concurrency: 2,
          metrics: { completed: 20, failed: 0, successRate: 1 },
        },
      )
      assert.ok(avgDuration > 0 && avgDuration < 60_000, `${avgDuration} ms`)
      assert.deepEqual(Object.keys(body), ['ok', 'status'])
      const measured = await call('GET', `/api/workers/${name}/metrics`)
      assert.deepEqual(measured.body.metrics.counts, { waiting: 0, active: 0, completed: 20, failed: 0, delayed: 0 })
      const [counted, ...others] = await service.counts([name, 'nobody'], { byVersion: true })
      assert.ok(counted !== undefined && others.length === 0)
      const { totalMs, durations, ...attempts } = counted
      assert.deepEqual(attempts, { worker: name, version: '1.0.0', completed: 20, failed: 0, lost: 0, timedOut: 0, cancelled: 0 })
      assert.equal(
        Object.values(durations).reduce((sum, times) => sum + times),
        20,
      )
      assert.ok((percentile(durations, 1) ?? 0) <= 1.1 * totalMs + 0.125)

      const stopped = await call('POST', `/api/workers/${name}/stop`)
      assert.equal(stopped.status, 200)
      assert.equal(stopped.body.worker.state, 'stopped')
      assert.equal(names('onWorkerStop').length, 1)
      assert.equal((await call('DELETE', `/api/workers/${name}`)).status, 200)
      assert.equal((await call('GET', `/api/workers/${name}`)).body.code, 'WORKER_NOT_FOUND')
    })

    it('calls hooks for each attempt of a job', async () => {
      const both = outcomes(2)
      await create(
        (job) => {
          if (job.attemptsMade === 0) throw new Error('not yet')
          return { ok: job.data.text }
        },
        { jobOptions: { attempts: 2, backoff: { type: 'fixed', delay: 1 } } },
      )
      const { id } = await service.enqueue(name, { text: 'hi' }, { name: 'greet' })
      const [first, second] = await both
      const view = (attempt: number, timestamp: unknown) => ({
        id,
        name: 'greet',
        queue,
        data: { text: 'hi' },
        attempt,
        maxAttempts: 2,
        timestamp,
      })
      assert.deepEqual(first?.job, { ...view(1, first?.job.timestamp), final: false })
      assert.match(String(first?.outcome), /not yet/)
      assert.deepEqual(second?.job, view(2, first?.job.timestamp))
      assert.deepEqual(second?.outcome, { ok: 'hi' })
      assert.deepEqual(
        host
          .recorded('onJobStart')
          .filter(([worker]) => worker === name)
          .map(([, job]) => (job as JobView).attempt),
        [1, 2],
      )
      const status = await service.status(name)
      assert.deepEqual([status.metrics.completed, status.metrics.failed, status.metrics.successRate], [1, 1, 0.5])
      assert.ok(status.health > 90 && status.health < 100)
    })

    it('reports the error of a permanently failed job', async () => {
      const end = outcomes(1)
      await create(() => Promise.reject(new Error('no luck')), { jobOptions: { attempts: 1 } })
      const { id } = await service.enqueue(name, null)
      await end
      const job = await service.job(name, id)
      assert.deepEqual([job.status, job.error, job.result], ['failed', 'no luck', null])
    })

    it('works again after stop and start, and after a restart', async () => {
      await create(() => 'done')
      await service.stop(name)
      const { id } = await service.enqueue(name, 1)
      assert.equal((await service.job(name, id)).status, 'waiting')
      const end = outcomes(1)
      await service.start(name)
      await end
      const again = outcomes(1)
      const restarted = await call('POST', `/api/workers/${name}/restart`)
      assert.equal(restarted.status, 200)
      await service.enqueue(name, 2)
      await again
      assert.equal((await service.status(name)).metrics.completed, 2)
      assert.equal(names('onWorkerStart').length, 3)
      assert.equal(names('onWorkerStop').length, 2)
    })

    it('treats a start of a running worker as done', async () => {
      await create(() => 1)
      const answer = await call('POST', `/api/workers/${name}/start`)
      assert.equal(answer.status, 200)
      assert.equal(answer.body.operation.generation, 1)
      assert.match(answer.body.message, /already/)
      assert.equal(names('onWorkerStart').length, 1)
    })

    it('lets a running job end before it stops', async () => {
      const begun = signal()
      const release = signal()
      await create(async () => {
        begun.fire()
        await release.promise
        return 'ended'
      })
      const { id } = await service.enqueue(name, null)
      await begun.promise
      const early = await call('POST', `/api/workers/${name}/stop?wait=0`)
      assert.equal(early.status, 202)
      assert.deepEqual(early.body.operation.applied, [])
      assert.equal(early.body.operation.targets.length, 1)
      assert.equal((await service.status(name)).state, 'stopping')
      release.fire()
      await service.stop(name)
      assert.equal((await service.job(name, id)).result, 'ended')
    })

    it('lets a running job end before it stops, even when it is paused', async () => {
      const begun = signal()
      const release = signal()
      let runs = 0
      await create(async () => {
        runs++
        begun.fire()
        await release.promise
        return 'ended'
      })
      const { id } = await service.enqueue(name, null)
      await begun.promise
      await service.pause(name)
      assert.deepEqual((await call('POST', `/api/workers/${name}/stop?wait=0`)).body.operation.applied, [])
      release.fire()
      await service.stop(name)
      const { status, result } = await service.job(name, id)
      assert.deepEqual([status, result, runs], ['completed', 'ended', 1])
    })

    it('runs the most urgent jobs first', async () => {
      await create((job) => job.name, { concurrency: 1, autoStart: false })
      for (const priority of ['Low', 'Normal', 'Critical', 'High', 7] as const)
        await service.enqueue(name, null, { name: String(priority), priority })
      await service.enqueue(name, null, { name: 'default' })
      const end = outcomes(6)
      await service.start(name)
      assert.deepEqual(
        (await end).map(({ job }) => job.name),
        ['Critical', '7', 'High', 'Normal', 'default', 'Low'],
      )
    })

    it('leaves a worker FAILED whose processor does not load, reports why, and starts it again on request', async () => {
      const made = await call('POST', '/api/workers', { name, queueName: queue, processor: 'broken.mjs' })
      assert.equal(made.status, 201)
      assert.equal(made.body.worker.state, 'FAILED')
      assert.match(made.body.worker.lastError, /broken on purpose/)
      assert.equal((await service.status(name)).health, 0)
      const started = await call('POST', `/api/workers/${name}/start`)
      assert.deepEqual([started.status, started.body.code], [422, 'PROCESSOR_LOAD_FAILED'])
      assert.equal((await call('POST', `/api/workers/${name}/stop`)).body.worker.state, 'stopped')
    })

    it('does not start a worker that a gate denies', async () => {
      const denied = name
      gate = (worker) => (worker === denied ? deny('it is Sunday') : undefined)
      await create(() => 1, { autoStart: false })
      const answer = await call('POST', `/api/workers/${name}/start`)
      assert.deepEqual([answer.status, answer.body.code], [409, 'WORKER_START_DENIED'])
      assert.match(answer.body.message, /it is Sunday/)
      assert.equal((await service.get(name)).state, 'stopped')
    })

    it('finds processors from options, code and hooks', async () => {
      const withdraw = service.registerAll({ [name]: () => 'from code' })
      const end = outcomes(1)
      assert.equal((await call('POST', '/api/workers', { name, queueName: queue })).status, 201)
      await service.enqueue(name, null)
      assert.equal((await end)[0]?.outcome, 'from code')
      withdraw()
      await service.stop(name)
      await assert.rejects(service.start(name), { code: 'MISSING_PROCESSOR_SPEC' })

      const other = (await service.create({ name: `hooked-${count}`, queueName: queue })).state
      assert.equal(other, 'running')
      await service.remove(`hooked-${count}`)
      assert.equal((await service.create({ name: 'by-path', queueName: queue })).state, 'running')
      await service.remove('by-path')
      const unresolve = service.registerResolver((worker) => (worker === `resolved-${count}` ? () => 1 : undefined))
      assert.equal((await service.create({ name: `resolved-${count}`, queueName: queue })).state, 'running')
      unresolve()
    })

    it('rejects job options that a plugin made invalid', async () => {
      await create(() => 1)
      await assert.rejects(service.enqueue(name, null, { name: 'make-it-invalid' }), { code: 'INVALID_JOB_OPTIONS' })
    })

    it('lists by page and state, and hides inactive workers', async () => {
      const mine = (suffix: string) => `list-${count}-${suffix}`
      await service.create({ name: mine('a'), queueName: queue, processor: () => 1 })
      await service.create({ name: mine('b'), queueName: queue, processor: () => 1, autoStart: false })
      await service.create({ name: mine('c'), queueName: queue, processor: () => 1, activeStatus: false })
      const listed = async (query: string): Promise<string[]> =>
        (await call('GET', `/api/workers${query}`)).body.workers
          .map((worker: { name: string }) => worker.name)
          .filter((other: string) => other.startsWith(`list-${count}-`))
      assert.deepEqual(await listed(''), [mine('a'), mine('b')])
      assert.deepEqual(await listed('?includeInactive=true'), [mine('a'), mine('b'), mine('c')])
      assert.deepEqual(await listed('?status=active'), [mine('a')])
      assert.deepEqual(await listed('?status=inactive'), [mine('b')])
      const { pagination, workers: page } = (await call('GET', '/api/workers?limit=2&page=2')).body
      assert.deepEqual([page.length, pagination.page, pagination.limit], [2, 2, 2])
      assert.equal(pagination.totalPages, Math.ceil(pagination.total / 2))
    })

    it('cancels a job that does not end in time', async () => {
      await host.stop()
      await boot('0')
      const begun = signal()
      let reason: unknown
      await create(async (_job, _token, abort) => {
        begun.fire()
        await new Promise<void>((resolve) => abort?.addEventListener('abort', () => resolve()))
        reason = abort?.reason
        throw new Error('gave up')
      })
      await service.enqueue(name, null)
      await begun.promise
      assert.equal((await service.stop(name)).worker.state, 'stopped')
      assert.notEqual(reason, undefined)
    })
  })
}
