import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { definePlugin } from 'zin'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHostOptions } from 'zin/testing'
import { redisServer } from '../../scripts/testing/redis-server.js'
import { workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

type Task = (job: unknown, token?: string, signal?: AbortSignal) => Promise<void>
type Parts = Pick<TestHostOptions, 'plugins' | 'shutdown'>

/** A host on a Redis of its own, which can be lost. */
async function scene(t: TestContext, loss: 'kill' | 'hang', { plugins = [], ...more }: Parts) {
  const redis = await redisServer()
  t.after(() => redis.stop())
  const host = await createTestHost({
    plugins: [database(), kv(), queues(), ops(), ...plugins],
    env: { REDIS_URL: redis.url },
    ...more,
  })
  return { host, lose: async () => redis[loss]() }
}

/** A worker that `workers` manages; begun by a plugin, so that the test host sees what it leaves open. */
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
  // Running jobs get most of the time to end.
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

/** Jobs that end when they are told to, and those that end when their signal says so. */
function tasks(t: TestContext) {
  const [started, ended] = [signal(), signal()]
  // After the stop: what goes on then must open nothing, or this process does not end.
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

// host.stop() fails when a plugin hangs, and when a timer or a socket of one is left.
for (const [loses, loss] of [
  ['whose Redis goes away for good', 'kill'],
  ['whose Redis hangs for good', 'hang'],
] as const) {
  describe(`a host ${loses}`, { concurrency: 4 }, () => {
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

      it(`stops after a job of a ${kind} that ended while nobody could be told`, async (t) => {
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
