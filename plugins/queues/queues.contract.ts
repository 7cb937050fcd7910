import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import type { ListedState } from './contract.js'
import { type Queues, queuesService } from './index.js'
import { done } from './testing/done.js'

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

    it('lists jobs without their payloads, and otherwise as with them', async () => {
      const queue = fresh()
      const data = { text: 'x'.repeat(10_000) }
      await queues.add(queue, 'plain', data)
      await queues.add(queue, 'urgent', data, { priority: 2, attempts: 4, backoff: { type: 'fixed', delay: 5 } })
      await queues.add(queue, 'later', data, { delay: 60_000 })
      await queues.add(queue, 'once', data, { deduplication: { id: 'once' } })
      const shown = (jobs: readonly Job[]) =>
        jobs.map((job) => {
          const { data: _data, returnvalue: _result, stacktrace: _stacks, ...json } = job.asJSON()
          return { ...json, queue: job.queueName, key: job.queueQualifiedName, finishedOn: job.finishedOn, parent: job.parentKey }
        })
      const compare = async (state: ListedState, count: number) => {
        const light = await queues.list(queue, state, { offset: 0, limit: 10, payload: false })
        assert.deepEqual(shown(light), shown(await queues.list(queue, state, { offset: 0, limit: 10 })))
        assert.equal(light.length, count)
        assert.ok(light.every((job) => job.data === undefined && !job.returnvalue && !job.stacktrace?.length))
      }
      await compare('waiting', 3)
      await compare('delayed', 1)
      const worker = queues.worker(queue, async (job) => {
        await job.updateProgress({ at: job.name })
        if (job.name === 'once') throw new Error('broken')
        return data
      })
      await Promise.all([done(worker, 2), once(worker, 'failed')])
      await worker.close()
      await compare('completed', 2)
      await compare('failed', 1)
      assert.deepEqual(ids(await queues.list(queue, 'completed', { offset: 1, limit: 1, payload: false })), ['plain'])
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

    it('keeps the stacks of the last ten failures of a job, or the number set by its options', async () => {
      const queue = fresh()
      const worker = queues.worker(queue, async ({ attemptsMade }) => {
        throw new Error(`no ${attemptsMade + 1}`)
      })
      const ended = new Set<string>()
      const both = new Promise<void>((resolve) =>
        worker.on('failed', (job) => {
          if (job?.attemptsMade === 12 && ended.add(job.name).size === 2) resolve()
        }),
      )
      await queues.add(queue, 'plain', {}, { attempts: 12 })
      await queues.add(queue, 'more', {}, { attempts: 12, stackTraceLimit: 11 })
      await both
      await worker.close()
      const failed = await queues.list(queue, 'failed', { offset: 0, limit: 2 })
      const errors = new Map(failed.map(({ name, stacktrace }) => [name, stacktrace?.map((stack) => /no \d+/.exec(stack)?.[0])]))
      const last = (count: number) => Array.from({ length: count }, (_, i) => `no ${13 - count + i}`)
      assert.deepEqual([errors.get('plain'), errors.get('more')], [last(10), last(11)])
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

    it('keeps every option of a job, including those unknown to BullMQ', async () => {
      const queue = fresh()
      const { id } = await queues.add(queue, 'x', {}, { priority: 51, timeout: 1234 } as object)
      const job = await queues.queue(queue).getJob(id ?? '')
      assert.deepEqual([job?.priority, (job?.opts as { timeout?: number }).timeout], [51, 1234])
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
