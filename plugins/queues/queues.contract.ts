import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Job, Worker } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { type Queues, queuesService } from './index.js'

const done = (worker: Worker, count: number): Promise<void> =>
  new Promise((resolve) => {
    let left = count
    worker.on('completed', () => {
      if (--left === 0) resolve()
    })
  })

/** What both stores must do, through the service of a booted host. */
export function queuesContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`queues on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `q${++number}`
    const ids = (jobs: readonly Job[]) => jobs.map((job) => job.name)

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    it('processes a job and returns its result', async () => {
      const queue = fresh()
      const events = queues.events(queue)
      const worker = queues.worker(queue, async (job) => ({ sum: job.data.a + job.data.b, text: job.data.text }))
      await events.waitUntilReady()
      const job = await queues.add(queue, 'sum', { a: 1, b: 2, text: "ünï 🎈 'quoted' \\u0000" })
      assert.deepEqual(await job.waitUntilFinished(events, 5000), { sum: 3, text: "ünï 🎈 'quoted' \\u0000" })
      await worker.close()
      await events.close()
      const kept = await queues.queue(queue).getJob(job.id ?? '')
      assert.equal(await kept?.getState(), 'completed')
    })

    it('returns one producer per name, and lists the names of all queues', async () => {
      const queue = fresh()
      assert.equal(queues.queue(queue), queues.queue(queue))
      await queues.add(queue, 'x', {})
      assert.ok((await queues.names()).includes(queue))
      assert.throws(() => queues.queue('a:b'), { code: 'QUEUE_INVALID_NAME' })
    })

    it('permanently fails a waiting job, and no other', async () => {
      const queue = fresh()
      const [waiting, delayed] = [
        await queues.add(queue, 'waiting', {}, { attempts: 3 }),
        await queues.add(queue, 'delayed', {}, { delay: 60_000 }),
      ]
      for (const job of [waiting, delayed]) {
        assert.equal(await queues.fail(queue, job.id ?? '', 'not needed'), true)
        const kept = await queues.queue(queue).getJob(job.id ?? '')
        assert.deepEqual([await kept?.getState(), kept?.failedReason], ['failed', 'not needed'])
        assert.equal(await queues.fail(queue, job.id ?? '', 'again'), false)
      }
      assert.equal(await queues.fail(queue, 'nobody', 'no'), false)
      let end: () => void = () => undefined
      const worker = queues.worker(queue, () => new Promise<void>((resolve) => (end = resolve)))
      const active = once(worker, 'active')
      const running = await queues.add(queue, 'running', {})
      await active
      assert.equal(await queues.fail(queue, running.id ?? '', 'no'), false)
      const completed = once(worker, 'completed')
      end()
      await completed
      await worker.close()
    })

    it('runs jobs without priority first, then by priority, and lists waiting ones in that order', async () => {
      const queue = fresh()
      for (const [jobName, priority] of [
        ['low', 90],
        ['plain1', undefined],
        ['high', 1],
        ['plain2', undefined],
        ['high2', 1],
      ] as const) {
        await queues.add(queue, jobName, {}, priority === undefined ? {} : { priority })
      }
      const order = ['plain1', 'plain2', 'high', 'high2', 'low']
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 0, limit: 10 })), order)
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 1, limit: 3 })), order.slice(1, 4))
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 3, limit: 10 })), order.slice(3))
      assert.deepEqual(await queues.list(queue, 'waiting', { offset: 9, limit: 10 }), [])
      assert.deepEqual(await queues.list(queue, 'waiting', { offset: 0, limit: 0 }), [])
      const ran: string[] = []
      const worker = queues.worker(queue, async (job) => void ran.push(job.name))
      const finished = done(worker, 5)
      await finished
      assert.deepEqual(ran, order)
      await worker.close()
    })

    it('pages waiting jobs oldest first and finished ones newest first', async () => {
      const queue = fresh()
      for (let i = 0; i < 6; i++) await queues.add(queue, `n${i}`, {})
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 0, limit: 2 })), ['n0', 'n1'])
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 2, limit: 2 })), ['n2', 'n3'])
      const worker = queues.worker(queue, async () => {
        await new Promise((resolve) => setTimeout(resolve, 3))
      })
      await done(worker, 6)
      await worker.close()
      assert.deepEqual(ids(await queues.list(queue, 'completed', { offset: 0, limit: 3 })), ['n5', 'n4', 'n3'])
      assert.deepEqual(ids(await queues.list(queue, 'completed', { offset: 3, limit: 9 })), ['n2', 'n1', 'n0'])
    })

    it('counts and lists waiting jobs the same whether the queue is paused or not', async () => {
      const queue = fresh()
      for (let i = 0; i < 3; i++) await queues.add(queue, `n${i}`, {})
      await queues.add(queue, 'later', {}, { delay: 60_000 })
      await queues.add(queue, 'prioritised', {}, { priority: 5 })
      const before = await queues.counts(queue)
      await queues.queue(queue).pause()
      assert.deepEqual(await queues.counts(queue), before)
      assert.deepEqual(before, { waiting: 4, active: 0, delayed: 1, completed: 0, failed: 0, waitingChildren: 0 })
      await queues.add(queue, 'n3', {})
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 0, limit: 10 })), ['n0', 'n1', 'n2', 'n3', 'prioritised'])
      assert.deepEqual(ids(await queues.list(queue, 'delayed', { offset: 0, limit: 10 })), ['later'])
      const ran: string[] = []
      const worker = queues.worker(queue, async (job) => void ran.push(job.name))
      await worker.waitUntilReady()
      assert.deepEqual(ran, [])
      const finished = done(worker, 5)
      await queues.queue(queue).resume()
      await finished
      assert.deepEqual(ran, ['n0', 'n1', 'n2', 'n3', 'prioritised'])
      await worker.close()
    })

    it('runs a delayed job after its delay, not before', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async () => Date.now())
      await worker.waitUntilReady()
      const added = Date.now()
      const completed = once(worker, 'completed')
      await queues.add(queue, 'later', {}, { delay: 200 })
      const [, ranAt] = await completed
      assert.ok(ranAt - added >= 195, `ran after ${ranAt - added} ms`)
      await worker.close()
    })

    it('retries a failing job with backoff, and keeps it as failed with its error', async () => {
      const queue = fresh()
      let runs = 0
      const worker = queues.worker(queue, async () => {
        throw new Error(`no ${++runs}`)
      })
      const last = new Promise<void>((resolve) =>
        worker.on('failed', (job) => {
          if (job?.attemptsMade === 3) resolve()
        }),
      )
      await queues.add(queue, 'fails', {}, { attempts: 3, backoff: { type: 'fixed', delay: 20 } })
      await last
      await worker.close()
      const [failed] = await queues.list(queue, 'failed', { offset: 0, limit: 5 })
      assert.equal(failed?.failedReason, 'no 3')
      assert.equal(failed?.attemptsMade, 3)
      assert.equal((await queues.counts(queue)).failed, 1)
    })

    it('retries and removes a failed job', async () => {
      const queue = fresh()
      let broken = true
      const worker = queues.worker(queue, async () => {
        if (broken) throw new Error('no')
      })
      const failed = once(worker, 'failed')
      const job = await queues.add(queue, 'x', {})
      await failed
      broken = false
      const again = once(worker, 'completed')
      await (await queues.queue(queue).getJob(job.id ?? ''))?.retry('failed')
      await again
      await worker.close()
      await (await queues.queue(queue).getJob(job.id ?? ''))?.remove()
      assert.deepEqual(await queues.counts(queue), { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0, waitingChildren: 0 })
    })

    it('cancels a running job by its signal', async () => {
      const queue = fresh()
      const worker = queues.worker(
        queue,
        (_job, _token, signal) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => reject(new Error('stopped by signal')))
          }),
      )
      const active = once(worker, 'active')
      const job = await queues.add(queue, 'endless', {})
      await active
      assert.deepEqual(ids(await queues.list(queue, 'active', { offset: 0, limit: 5 })), ['endless'])
      const failed = once(worker, 'failed')
      assert.equal(worker.cancelJob(job.id ?? '', 'operator'), true)
      const [, error] = await failed
      assert.equal(error.message, 'stopped by signal')
      await worker.close()
    })

    it('runs 2000 jobs on three workers, each exactly once', async () => {
      const queue = fresh()
      const runs = new Map<string, number>()
      let left = 2000
      let finish: () => void = () => undefined
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      const workers = [1, 2, 3].map(() =>
        queues
          .worker(queue, async (job) => void runs.set(job.name, (runs.get(job.name) ?? 0) + 1), { concurrency: 10 })
          .on('completed', () => {
            if (--left === 0) finish()
          }),
      )
      for (let i = 0; i < 2000; i += 500) {
        await queues.queue(queue).addBulk(Array.from({ length: 500 }, (_, n) => ({ name: `j${i + n}`, data: {} })))
      }
      await finished
      await Promise.all(workers.map((worker) => worker.close()))
      assert.equal(runs.size, 2000)
      assert.ok([...runs.values()].every((count) => count === 1))
    })

    it('waits for running jobs when a worker closes, and starts no others', async () => {
      const queue = fresh()
      let release: () => void = () => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const worker = queues.worker(queue, async (job) => {
        await held
        return job.name
      })
      const active = once(worker, 'active')
      await queues.add(queue, 'running', {})
      await queues.add(queue, 'waiting', {})
      await active
      const closed = worker.close()
      release()
      await closed
      assert.deepEqual(ids(await queues.list(queue, 'completed', { offset: 0, limit: 5 })), ['running'])
      assert.deepEqual(ids(await queues.list(queue, 'waiting', { offset: 0, limit: 5 })), ['waiting'])
    })

    it('runs the children of a flow before their parent', async () => {
      const parents = fresh()
      const children = fresh()
      const child = queues.worker(children, async (job) => job.data.n * 2)
      const parent = queues.worker(parents, async (job) => Object.values(await job.getChildrenValues()).sort())
      const finished = once(parent, 'completed')
      await queues.flow().add({
        name: 'sum',
        queueName: parents,
        children: [
          { name: 'a', queueName: children, data: { n: 1 } },
          { name: 'b', queueName: children, data: { n: 2 } },
        ],
      })
      const [, result] = await finished
      assert.deepEqual(result, [2, 4])
      await Promise.all([child.close(), parent.close()])
    })

    it('adds a flow atomically, with the retention of its queues', async () => {
      const parents = fresh()
      const children = fresh()
      const added = await queues.addFlow({ name: 'sum', queueName: parents, children: [{ name: 'a', queueName: children, data: 1 }] })
      const plain = await queues.add(parents, 'plain', {})
      for (const job of [added.job, ...(added.children ?? []).map((node) => node.job)]) {
        assert.deepEqual([job.opts.removeOnComplete, job.opts.removeOnFail], [plain.opts.removeOnComplete, plain.opts.removeOnFail])
      }
      assert.ok((await queues.names()).includes(children))
      const bad = [
        { name: 'fine', queueName: children },
        { name: 'bad', queueName: children, data: 'a\0b' },
      ]
      await assert.rejects(queues.addFlow({ name: 'sum', queueName: parents, children: bad }), { code: 'QUEUE_INVALID_JOB' })
      assert.equal((await queues.counts(children)).waiting, 1)
      assert.equal((await queues.counts(parents)).waitingChildren, 1)
    })

    it('keeps every option of a job, including those unknown to BullMQ', async () => {
      const queue = fresh()
      const { id } = await queues.add(queue, 'x', {}, { priority: 51, timeout: 1234 } as object)
      const job = await queues.queue(queue).getJob(id ?? '')
      assert.deepEqual([job?.priority, (job?.opts as { timeout?: number }).timeout], [51, 1234])
    })

    it('reports since when the oldest job of all priorities has been waiting', async () => {
      const queue = fresh()
      assert.equal(await queues.oldestWaiting(queue), undefined)
      await queues.add(queue, 'later', {}, { delay: 60_000, timestamp: 1 })
      assert.equal(await queues.oldestWaiting(queue), undefined)
      for (const [priority, timestamp] of [
        [1, 5000],
        [101, 3000],
        [91, 4000],
        [0, 6000],
      ] as const) {
        await queues.add(queue, 'x', {}, { priority, timestamp })
      }
      assert.equal(await queues.oldestWaiting(queue), 3000)
    })

    it('samples queues: counts, the oldest waiting job of all priorities and whether they are paused', async () => {
      const [busy, empty] = [fresh(), fresh()]
      for (const [priority, timestamp] of [
        [0, 6000],
        [91, 4000],
      ] as const) {
        await queues.add(busy, 'x', {}, { priority, timestamp })
      }
      await queues.add(busy, 'later', {}, { delay: 60_000, timestamp: 1 })
      await queues.queue(busy).pause()
      const samples = await queues.sample([busy, empty])
      const none = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0, waitingChildren: 0 }
      assert.deepEqual(samples.get(busy), { counts: { ...none, waiting: 2, delayed: 1 }, paused: true, oldestWaiting: 4000 })
      assert.deepEqual(samples.get(empty), { counts: none, paused: false, oldestWaiting: undefined })
      await queues.queue(busy).resume()
      assert.equal((await queues.sample([busy])).get(busy)?.paused, false)
    })

    it('schedules with the checks and retention of add, and reports which job cannot be removed', async () => {
      const queue = fresh()
      await assert.rejects(queues.schedule(queue, 's', { every: 1000 }, { name: 'x', data: 'a\0b' }), { code: 'QUEUE_INVALID_JOB' })
      const job = await queues.schedule(
        queue,
        's',
        { pattern: '0 0 1 1 *', tz: 'UTC' },
        { name: 'tick', data: { n: 1 }, options: { attempts: 2 } },
      )
      const plain = await queues.add(queue, 'plain', {})
      assert.deepEqual([job?.name, job?.opts.attempts, job?.opts.removeOnFail], ['tick', 2, plain.opts.removeOnFail])
      await assert.rejects((await queues.queue(queue).getJob(job?.id ?? ''))?.remove() ?? Promise.resolve(), { code: -8 })
    })

    it('computes when a pattern is due in a time zone with daylight saving time', () => {
      const next = (pattern: string, after: string): string =>
        new Date(queues.nextRun(pattern, 'Europe/Berlin', Date.parse(after)) ?? 0).toISOString()
      assert.equal(next('0 9 * * *', '2026-03-28T12:00:00Z'), '2026-03-29T07:00:00.000Z')
      // A time that is left out comes an hour later, and one that comes twice counts once.
      assert.equal(next('30 2 * * *', '2026-03-28T12:00:00Z'), '2026-03-29T01:30:00.000Z')
      assert.equal(next('30 2 * * *', '2026-10-24T12:00:00Z'), '2026-10-25T00:30:00.000Z')
      assert.equal(next('30 2 * * *', '2026-10-25T00:30:00Z'), '2026-10-26T01:30:00.000Z')
      // What is due in every hour is due in both.
      assert.equal(next('30 * * * *', '2026-10-25T00:30:00Z'), '2026-10-25T01:30:00.000Z')
      assert.throws(() => queues.nextRun('nonsense', 'UTC', 0))
    })

    it('repeats a scheduled job until the scheduler is removed', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async () => undefined)
      const thrice = done(worker, 3)
      await queues.queue(queue).upsertJobScheduler('often', { every: 60 }, { name: 'tick', data: { n: 1 } })
      await thrice
      assert.equal(await queues.queue(queue).removeJobScheduler('often'), true)
      assert.deepEqual(await queues.queue(queue).getJobSchedulers(), [])
      await worker.close()
    })

    it('rejects jobs that cannot be stored on every backend', async () => {
      const queue = fresh()
      await assert.rejects(queues.add(queue, 'x', {}, { repeat: { every: 1000 } } as object), {
        code: 'QUEUE_INVALID_JOB',
        message: /schedule\(/,
      })
      await assert.rejects(queues.add(queue, 'x', { text: 'a\0b' }), { code: 'QUEUE_INVALID_JOB', status: 400 })
      const circular: Record<string, unknown> = {}
      circular.self = circular
      await assert.rejects(queues.add(queue, 'x', circular), { code: 'QUEUE_INVALID_JOB' })
      await assert.rejects(queues.add(queue, 'x', 'x'.repeat(1_048_576)), { code: 'PAYLOAD_TOO_LARGE', status: 413 })
      assert.ok((await queues.add(queue, 'x', 'x'.repeat(1_048_574))).id)
      await assert.rejects(queues.schedule(queue, 'a\0b', { every: 60_000 }, { name: 'x' }), { code: 'QUEUE_INVALID_JOB', status: 400 })
      assert.equal(await queues.fail(queue, 'a\0b', 'no'), false)
    })

    it('logs the errors of a worker with the name of its queue and continues', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async () => 'ok')
      worker.emit('error', new Error('connection trouble'))
      const finished = once(worker, 'completed')
      await queues.add(queue, 'x', {})
      await finished
      await worker.close()
      const line = host.logs.find((one) => JSON.stringify(one).includes('connection trouble'))
      assert.ok(line && JSON.stringify(line).includes(`"${queue}"`))
    })

    it('returns the ping time in whole milliseconds, and rejects an aborted ping', async () => {
      assert.ok(Number.isInteger(await queues.ping()))
      await assert.rejects(queues.ping(AbortSignal.abort()), { name: 'AbortError' })
    })

    it('closes everything that is still open when the host stops', async () => {
      const other = await createTestHost(await makeOptions())
      const service = other.service(queuesService)
      service.worker('left-open', async () => undefined)
      service.events('left-open')
      await service.add('left-open', 'x', {})
      service.flow()
      await other.stop()
      await assert.rejects(service.add('left-open', 'x', {}), { code: 'QUEUES_NOT_STARTED', status: 503 })
    })
  })
}
