import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { type WorkerProcessor, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

type Task = (job: unknown, token?: string, signal?: AbortSignal) => Promise<void>
type Parts = Pick<TestHostOptions, 'plugins' | 'shutdown' | 'env' | 'hooks'>

/** A host with a separate Redis, which can be stopped. */
async function scene(t: TestContext, loss: 'kill' | 'hang', { plugins = [], env = {}, ...more }: Parts) {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const host = await createTestHost({
    plugins: [database(), kv(), cluster(), queues(), ops(), ...plugins],
    env: { REDIS_URL: redis.url, ...env },
    ...more,
  })
  return { host, lose: async () => redis[loss](), back: () => redis.start() }
}

/** A managed worker; created by a plugin, so that the test host sees what it leaves open. */
function managed(task: Task): Parts {
  const shop = definePlugin({
    name: 'shop',
    version: '1.0.0',
    uses: { workers: workersService },
    setup: () => undefined,
    async start({ services }) {
      await services.workers.create({ name: 'task', queueName: 'task' })
      await services.workers.start('task')
    },
  })
  // Running jobs get most of the time.
  return { plugins: [workers({ processors: { task } }), shop()], shutdown: { deadlineMs: 5_000 } }
}

/** A worker, a producer and a reader of events on the queues themselves. */
function direct(task: Task): Parts {
  const shop = definePlugin({
    name: 'shop',
    version: '1.0.0',
    uses: { queues: queuesService },
    setup: () => undefined,
    async start({ services }) {
      const worker = services.queues.worker('task', task)
      const events = services.queues.events('task')
      const later = services.queues.add('task', 'later', {}, { delay: 3_600_000 })
      await Promise.all([worker.waitUntilReady(), events.waitUntilReady(), later])
    },
  })
  return { plugins: [shop()] }
}

/** Jobs that end on request, and jobs that end when their signal is aborted. */
function tasks(t: TestContext) {
  const [started, ended] = [signal(), signal()]
  // After the stop: whatever still runs must open nothing, or this process does not end.
  t.after(() => ended.fire())
  const stubborn: Task = async () => {
    started.fire()
    await ended.promise
  }
  const obedient: Task = async (_job, _token, aborted) => {
    started.fire()
    if (aborted) await once(aborted, 'abort')
  }
  return { stubborn, obedient, started: started.promise, end: () => ended.fire() }
}

// host.stop() fails when a plugin hangs or leaves a timer or socket open.
for (const [loses, loss] of [
  ['whose Redis is killed', 'kill'],
  ['whose Redis hangs', 'hang'],
] as const) {
  describe(`a host ${loses}`, { concurrency: true }, () => {
    it('stops with an idle worker, a producer and a reader of events', async (t) => {
      const { host, lose } = await scene(t, loss, direct(tasks(t).obedient))
      await lose()
      await host.stop()
    })

    it('stops with an idle managed worker', async (t) => {
      const { host, lose } = await scene(t, loss, managed(tasks(t).obedient))
      await lose()
      await host.stop()
    })

    for (const [kind, make] of [
      ['worker', direct],
      ['managed worker', managed],
    ] as const) {
      it(`stops while a ${kind} runs a job that heeds its signal`, async (t) => {
        const { obedient, started } = tasks(t)
        const { host, lose } = await scene(t, loss, make(obedient))
        await host.service(queuesService).add('task', 'task', {})
        await started
        await lose()
        await host.stop()
      })

      it(`stops while a ${kind} runs a job that does not end`, async (t) => {
        const { stubborn, started } = tasks(t)
        const { host, lose } = await scene(t, loss, make(stubborn))
        await host.service(queuesService).add('task', 'task', {})
        await started
        await lose()
        await host.stop()
      })

      it(`stops after a job of a ${kind} whose end could not be stored`, async (t) => {
        const { stubborn, started, end } = tasks(t)
        const { host, lose } = await scene(t, loss, make(stubborn))
        await host.service(queuesService).add('task', 'task', {})
        await started
        await lose()
        end()
        await host.stop()
      })
    }
  })
}

describe('workers whose Redis does not respond', () => {
  for (const [loss, why] of [
    ['hang', /no response within 300 ms/],
    ['kill', /queue store cannot be reached|no response within 300 ms/],
  ] as const) {
    it(`reject jobs, reads and starts with 503 within WORKER_CONNECTION_TIMEOUT (${loss})`, async (t) => {
      const plugins = [workers({ processors: { task: () => 1, other: () => 1 } })]
      const { host, lose } = await scene(t, loss, { plugins, env: { WORKER_CONNECTION_TIMEOUT: '300' } })
      const service = host.service(workersService)
      for (const name of ['task', 'other']) await service.create({ name, queueName: name, autoStart: false })
      const { id } = await service.enqueue('task', null)
      await lose()
      const call = async (method: string, path: string, body?: object, code: string = 'QUEUE_CONNECTION_ERROR') => {
        const headers = { 'x-requested-with': 'test' }
        const answer = await host.inject({ method, path: `/api/workers/${path}`, headers, ...(body === undefined ? {} : { body }) })
        assert.deepEqual([answer.status, answer.body.code], [503, code], answer.text)
        assert.match(answer.body.message, why)
      }
      // Until the client has noticed the loss, it knows that it sends nothing.
      const noticed = (error: Error): boolean => !error.message.includes('writeable')
      await eventually('the loss is noticed', () =>
        host
          .service(queuesService)
          .ping(AbortSignal.timeout(200))
          .then(() => false, noticed),
      )
      // It may still be sent if the connection comes back.
      await call('POST', 'task/jobs', { data: 1 }, 'JOB_OUTCOME_UNKNOWN')
      await call('GET', `task/jobs/${id}`)
      await call('POST', `task/jobs/${id}/cancel`, {})
      await call('GET', 'task/metrics')
      await call('PUT', 'task/schedules/often', { every: 60_000 })
      await host.stop()
    })
  }
})

describe('a change of a worker whose nodes cannot be notified', () => {
  it('is stored, reported as such in the response, and applied when Redis is back', async (t) => {
    const env = { WORKER_PERSISTENCE_DRIVER: 'db', WORKER_INTERVAL_MS: '200' }
    const { host, lose, back } = await scene(t, 'kill', { plugins: [workers({ processors: { task: () => 1 } })], env })
    const service = host.service(workersService)
    await service.create({ name: 'task', queueName: 'task' })
    await service.start('task')
    await lose()
    const { body, status } = await host.inject({ method: 'POST', path: '/api/workers/task/stop', headers: { 'x-requested-with': 'test' } })
    assert.deepEqual([status, body.code], [503, 'WORKER_CHANGE_UNCONFIRMED'], JSON.stringify(body))
    assert.match(body.message, /^The change of worker "task" is stored, but the nodes could not be notified: /)
    await back()
    await eventually('it is stopped', async () => (await service.get('task')).state === 'stopped')
    await host.stop()
  })
})

describe('a job that loses its lock', () => {
  it('fails when it stalls more than maxStalls times; its lock lasts jobLockMs', async (t) => {
    const lost = signal<{ final: boolean; error: Error }>()
    let runs = 0
    let ttl: number | undefined
    const task: WorkerProcessor = async (job, token) => {
      runs++
      const { client } = store.queue('task').getBackend() as unknown as { client: Promise<{ pttl(key: string): Promise<number> }> }
      ttl = await (await client).pttl(store.queue('task').toKey(`${job.id}:lock`))
      await job.extendLock(token ?? '', 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const { host } = await scene(t, 'kill', {
      plugins: [workers({ processors: { task }, jobLockMs: 1000, maxStalls: 0 })],
      hooks: { onJobFailed: (_worker, { final }, error) => lost.fire({ final, error }) },
    })
    const store = host.service(queuesService)
    const service = host.service(workersService)
    await service.create({ name: 'task', queueName: 'task' })
    await service.start('task')
    const { id } = await service.enqueue('task', null)
    const { final, error } = await lost.promise
    assert.equal(final, true)
    assert.match(error.message, /stalled more than/)
    assert.ok(ttl !== undefined && ttl > 0 && ttl <= 1000, `${ttl} ms`)
    // Which version ran it is read first.
    await eventually('the lost attempt is counted', async () => (await service.metrics('task')).failed > 0)
    const { completed, failed } = await service.metrics('task')
    assert.deepEqual([runs, (await service.job('task', id)).stalls, completed, failed], [1, 1, 0, 1])
    await host.stop()
  })
})
