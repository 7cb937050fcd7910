import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Job, Worker } from 'bullmq'
import { systemClock } from 'zin'
import { type Queues, queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { Counters } from '../node/counters.js'
import { jobRunner } from '../node/run-job.js'
import { RunningJobs } from '../node/running-jobs.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { WorkerRecord } from '../record/record.js'
import { workerRecord } from '../testing/worker-record.js'
import type { CancelRequest } from './cancel.js'
import { stopReason } from './cancel-reason.js'
import { WorkerJobs } from './jobs.js'
import { givenResult } from './payload.js'
import { fakeHooks } from './testing/fake-hooks.js'

/** Something that happens later. */
function later<T = void>(): { readonly promise: Promise<T>; fire(value: T): void } {
  let fire: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolve) => {
    fire = resolve
  })
  return { promise, fire: (value) => fire(value) }
}

const listening: WorkerProcessor = (_job, _token, signal) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('heard it')), { once: true }))

/** What the jobs of workers do, with real BullMQ workers on the store of the environment. */
export function jobsContract(title: string, env: Readonly<Record<string, string>>): void {
  const run = randomUUID().slice(0, 8)
  let count = 0
  let host: TestHost
  let store: Queues
  let record: WorkerRecord
  let queue: string
  let hooks = fakeHooks()
  let counters = new Counters()
  let opened: Worker[] = []
  let asked: CancelRequest[] = []
  let elsewhere = (_request: CancelRequest): boolean => false

  const recordOf = (name: string, more: Partial<WorkerRecord> = {}): WorkerRecord =>
    workerRecord(name, { jobOptions: { attempts: 1, backoff: { type: 'fixed', delay: 10 } }, ...more })
  const jobs = () =>
    new WorkerJobs({
      queues: store,
      hooks,
      clock: systemClock,
      defaults: { attempts: 3, priority: 1 },
      connectionTimeout: 5000,
      cancelLocal: (name, id, reason) => opened.some((worker) => worker.name === name && runningIn(worker).cancel(id, reason)),
      cancelElsewhere: async (request) => {
        asked.push(request)
        return elsewhere(request)
      },
    })
  const jobsOf = new WeakMap<Worker, RunningJobs>()
  const runningIn = (worker: Worker): RunningJobs => jobsOf.get(worker) ?? assert.fail('a worker of another test')
  /** A worker as a node runs it. */
  const work = (processor: WorkerProcessor, of: WorkerRecord = record, version = '1.0.0'): Worker => {
    const running = new RunningJobs()
    const runner = jobRunner({
      workerName: of.name,
      select: () => ({ version, run: processor }),
      counters,
      running,
      clock: systemClock,
      hooks,
      defaults: () => of.jobOptions,
    })
    const worker = store.worker(of.queueName, runner, {
      concurrency: of.concurrency,
      ...(of.rateLimit !== null && { limiter: of.rateLimit }),
    })
    worker.on('error', () => undefined)
    opened.push(worker)
    jobsOf.set(worker, running)
    return worker
  }
  const completed = (worker: Worker): Promise<[Job, unknown]> => once(worker, 'completed') as Promise<[Job, unknown]>
  const failed = (worker: Worker): Promise<[Job, Error]> => once(worker, 'failed') as Promise<[Job, Error]>
  const times = (worker: Worker, event: 'completed' | 'failed', n: number): Promise<void> =>
    new Promise((resolve) => {
      let left = n
      worker.on(event, () => {
        if (--left === 0) resolve()
      })
    })
  const counted = () => counters.drain().map(({ totalMs: _, ...counts }) => counts)

  describe(`jobs of workers on ${title}`, () => {
    before(async () => {
      host = await createTestHost({ plugins: [queues()], env: { ...env, APP_NAME: `jobs-${run}` } })
      store = host.service(queuesService)
    })
    after(() => host.stop())
    beforeEach(() => {
      count++
      queue = `jobs-${count}`
      record = recordOf(queue)
      hooks = fakeHooks()
      counters = new Counters()
      opened = []
      asked = []
      elsewhere = () => false
    })
    afterEach(async () => {
      await Promise.all(opened.map((worker) => worker.close()))
    })

    describe('added', () => {
      it('run by priority, and are read with the level that they were added with', async () => {
        const ids: string[] = []
        for (const priority of ['Low', 'Normal', 'Critical', 'High', 7] as const) {
          ids.push((await jobs().add(record, null, { name: String(priority), priority })).id)
        }
        const levels = await Promise.all(ids.map(async (id) => (await jobs().read(record, id)).priority))
        assert.deepEqual(levels, [0, 1, 10, 5, 7])
        const order: string[] = []
        const worker = work((job) => void order.push(job.name))
        await times(worker, 'completed', 5)
        assert.deepEqual(order, ['Critical', '7', 'High', 'Normal', 'Low'])
        await store.add(queue, 'foreign', null)
        const [foreign] = await store.list(queue, 'waiting', { offset: 0, limit: 1 })
        if (foreign?.id) assert.equal((await jobs().read(record, foreign.id)).priority, null)
      })

      it('wait for their delay, and tell their progress', async () => {
        const { id } = await jobs().add(record, null, { delay: 150 })
        assert.equal((await jobs().read(record, id)).status, 'delayed')
        const seen = later<unknown>()
        const worker = work(async (job) => {
          await job.updateProgress({ done: 3 })
          seen.fire((await jobs().read(record, id)).progress)
          return Date.now()
        })
        const [{ timestamp }, ranAt] = await completed(worker)
        assert.ok((ranAt as number) >= timestamp + 150, `ran after ${(ranAt as number) - timestamp} ms`)
        assert.deepEqual(await seen.promise, { done: 3 })
      })

      it('are tried again after their backoff, and each attempt is counted once', async () => {
        const at: number[] = []
        const worker = work((job) => {
          at.push(Date.now())
          if (job.attemptsMade < 2) throw new Error('not yet')
          return 'done'
        })
        const { id } = await jobs().add(record, null, { attempts: 3, backoff: { type: 'fixed', delay: 80 } })
        await completed(worker)
        const [first = 0, second = 0, third = 0] = at
        assert.ok(second - first >= 75 && third - second >= 75, `at ${at}`)
        assert.deepEqual(counted(), [{ version: '1.0.0', completed: 1, failed: 2, lost: 0 }])
        const job = await jobs().read(record, id)
        assert.deepEqual([job.status, job.attempts, job.maxAttempts, job.result, job.error], ['completed', 3, 3, 'done', null])
      })

      it('are given the job there is while an equal one waits or runs, and a new one after that', async () => {
        const add = async () => (await jobs().add(record, null, { deduplication: { id: 'report:7' } })).id
        const first = await add()
        assert.equal(await add(), first)
        const begun = later()
        const release = later()
        const worker = work(async () => {
          begun.fire()
          await release.promise
        })
        await begun.promise
        assert.equal(await add(), first)
        const done = completed(worker)
        release.fire()
        await done
        const second = await add()
        assert.notEqual(second, first)
        assert.equal((await jobs().counts(record)).completed >= 1, true)
      })

      it('are kept out for as long as their ttl, also when the equal job is done', async () => {
        const add = async () => (await jobs().add(record, null, { deduplication: { id: 'once', ttl: 60_000 } })).id
        const worker = work(() => 1)
        const done = completed(worker)
        const first = await add()
        await done
        assert.equal(await add(), first)
      })

      it('count as an equal job no more when they were cancelled', async () => {
        const add = async () => (await jobs().add(record, null, { deduplication: { id: 'x' } })).id
        const first = await add()
        assert.equal(await jobs().cancel(record, first, 'no'), 'removed')
        assert.notEqual(await add(), first)
      })

      it('take the options that a listener gives, when they are valid', async () => {
        hooks = fakeHooks({ transformJobOptions: async (plan) => ({ ...plan, priority: 10, attempts: plan.name === 'bad' ? 0 : 4 }) })
        const { id } = await jobs().add(record, null, {})
        const job = await jobs().read(record, id)
        assert.deepEqual([job.priority, job.maxAttempts], [10, 4])
        await assert.rejects(jobs().add(record, null, { name: 'bad' }), { code: 'INVALID_JOB_OPTIONS' })
      })

      it('tell since when the oldest of all priorities waits', async () => {
        assert.equal(await jobs().oldestWaiting(record), undefined)
        const low = await jobs().add(record, null, { priority: 'Low' })
        await new Promise((resolve) => setTimeout(resolve, 5))
        await jobs().add(record, null, { priority: 'Critical' })
        await jobs().add(record, null, { delay: 60_000 })
        const { createdAt } = await jobs().read(record, low.id)
        assert.equal(await jobs().oldestWaiting(record), Date.parse(createdAt))
      })
    })

    describe('with a rate limit', () => {
      it('are put off by it, and that is no attempt', async () => {
        const limited = { ...record, rateLimit: { max: 2, duration: 150 } }
        const at: number[] = []
        for (let i = 0; i < 4; i++) await jobs().add(limited, null, {})
        const worker = work((job) => void at.push(job.processedOn ?? 0), limited)
        await times(worker, 'completed', 4)
        assert.ok((at[2] ?? 0) - (at[0] ?? 0) >= 140, `at ${at}`)
        assert.deepEqual(counted(), [{ version: '1.0.0', completed: 4, failed: 0, lost: 0 }])
      })

      it('are put off by their processor, and that is no attempt', async () => {
        let runs = 0
        const worker = work(async (job, token) => {
          if (++runs > 1) return 'done'
          await job.moveToDelayed(Date.now() + 20, token)
          const error = new Error('later')
          error.name = 'DelayedError'
          throw error
        })
        const { id } = await jobs().add(record, null, { timeout: 60_000 })
        await completed(worker)
        assert.equal(runs, 2)
        assert.deepEqual(counted(), [{ version: '1.0.0', completed: 1, failed: 0, lost: 0 }])
        assert.equal((await jobs().read(record, id)).result, 'done')
      })
    })

    describe('with a timeout', () => {
      it('fail with JOB_TIMEOUT when it is over, and their signal says why', async () => {
        let reason: unknown
        const worker = work((_job, _token, signal) => {
          signal?.addEventListener('abort', () => {
            reason = signal.reason
          })
          return listening(_job, _token, signal)
        })
        const { id } = await jobs().add(record, null, { timeout: 30 })
        const [, error] = await failed(worker)
        assert.equal((error as Error & { code?: string }).code, 'JOB_TIMEOUT')
        assert.equal(reason, error)
        assert.equal((reason as Error).name, 'TimeoutError')
        assert.match((await jobs().read(record, id)).error ?? '', /longer than its timeout of 30 ms/)
        assert.deepEqual(counted(), [{ version: '1.0.0', completed: 0, failed: 1, lost: 1 }])
      })

      it('fail also when the processor ignores its signal, and the worker goes on', async () => {
        const stuck = later()
        const worker = work(async (job) => (job.name === 'stuck' ? stuck.promise : 'fine'))
        await jobs().add(record, null, { name: 'stuck', timeout: 20 })
        const [, error] = await failed(worker)
        assert.equal((error as Error & { code?: string }).code, 'JOB_TIMEOUT')
        const next = completed(worker)
        await jobs().add(record, null, { timeout: 60_000 })
        assert.equal((await next)[1], 'fine')
        stuck.fire()
      })

      it('take that of the worker when they have none, also when other code added them', async () => {
        const impatient = { ...record, jobOptions: { timeout: 25 } }
        const worker = work(listening, impatient)
        const first = failed(worker)
        await store.add(queue, 'plain', null)
        assert.equal(((await first)[1] as Error & { code?: string }).code, 'JOB_TIMEOUT')
        const own = await jobs().add(impatient, null, {})
        assert.equal(((await store.queue(queue).getJob(own.id))?.opts as { timeout?: number }).timeout, 25)
      })
    })

    describe('cancelled', () => {
      it('are removed while they wait or are delayed', async () => {
        for (const options of [{}, { delay: 60_000 }]) {
          const { id } = await jobs().add(record, null, options)
          assert.equal(await jobs().cancel(record, id, 'no'), 'removed')
          await assert.rejects(jobs().read(record, id), { code: 'JOB_NOT_FOUND', status: 404 })
          await assert.rejects(jobs().cancel(record, id, 'no'), { code: 'JOB_NOT_FOUND', status: 404 })
        }
        assert.deepEqual(asked, [])
      })

      it('fail for good when they run here and listen, and count neither way', async () => {
        const worker = work(listening)
        const active = once(worker, 'active')
        const { id } = await jobs().add(record, null, { attempts: 5 })
        await active
        const end = failed(worker)
        assert.equal(await jobs().cancel(record, id, 'asked by Ann'), 'cancelled')
        await end
        const job = await jobs().read(record, id)
        assert.deepEqual([job.status, job.error], ['failed', 'Cancelled: asked by Ann'])
        assert.deepEqual(counted(), [])
        await assert.rejects(jobs().cancel(record, id, 'again'), { code: 'JOB_FINISHED', status: 409, message: /failed already/ })
      })

      it('are left to the process that runs them, and are orphaned when none says so', async () => {
        const release = later()
        const foreign = store.worker(queue, async () => release.promise, { autorun: true })
        const active = once(foreign, 'active')
        const { id } = await jobs().add(record, null, {})
        await active
        assert.equal(await jobs().cancel(record, id, 'no'), 'orphaned')
        assert.deepEqual(asked, [{ queue, job: id, reason: 'Cancelled: no' }])
        elsewhere = () => true
        assert.equal(await jobs().cancel(record, id, 'no'), 'cancelled')
        elsewhere = () => {
          release.fire()
          return false
        }
        const done = completed(foreign)
        const late = jobs().cancel(record, id, 'no')
        await done
        await late.catch((error) => assert.equal(error.code, 'JOB_FINISHED'))
        await foreign.close()
        await assert.rejects(jobs().cancel(record, id, 'no'), { code: 'JOB_FINISHED', message: /completed already/ })
      })

      it('are not found under ids that are no jobs', async () => {
        await jobs().add(record, null, { delay: 1000 })
        for (const id of ['', 'wait', 'meta', 'id', 'events', 'delayed', 'marker', '1:lock', 'a\0b', '../1', 'x'.repeat(500), '0', '-1']) {
          await assert.rejects(jobs().read(record, id), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
          await assert.rejects(jobs().cancel(record, id, 'no'), { code: 'JOB_NOT_FOUND' }, JSON.stringify(id))
        }
        assert.equal((await jobs().counts(record)).delayed, 1)
      })

      it('are put back without loss of an attempt when the stop of their worker aborts them', async () => {
        const worker = work(listening)
        const active = once(worker, 'active')
        const { id } = await jobs().add(record, null, { attempts: 1, priority: 'High' })
        await active
        await worker.pause(true)
        runningIn(worker).cancelAll(stopReason)
        await worker.close()
        const back = await jobs().read(record, id)
        assert.deepEqual([back.status, back.attempts, back.priority], ['waiting', 0, 5])
        assert.deepEqual(counted(), [])
        const again = work(() => 'second run')
        assert.equal((await completed(again))[1], 'second run')
      })

      it('end the attempt of a processor that throws what is no error or what no store keeps', async () => {
        const thrown: Readonly<Record<string, unknown>> = { text: 'just text', nothing: undefined, nul: new Error('a\0b') }
        const worker = work((job) => Promise.reject(thrown[job.name]))
        for (const [name, text] of [
          ['text', 'just text'],
          ['nothing', 'undefined'],
          ['nul', 'a\uFFFDb'],
        ] as const) {
          const end = failed(worker)
          const { id } = await jobs().add(record, null, { name })
          await end
          assert.equal((await jobs().read(record, id)).error, text)
        }
      })
    })

    describe('in a flow', () => {
      const parentAndChild = () => {
        const child = recordOf(`${queue}-child`)
        const resolve = async (name: string): Promise<WorkerRecord> => (name === child.name ? child : record)
        return { child, resolve }
      }

      it('run when their children are done, on the queues of their workers', async () => {
        const { child, resolve } = parentAndChild()
        const flow = await jobs().addFlow(resolve, {
          worker: record.name,
          data: { sum: true },
          options: { name: 'sum', priority: 'High', timeout: 60_000 },
          children: [
            { worker: child.name, data: 1 },
            { worker: child.name, data: 2, options: { priority: 'Low' }, children: [{ worker: record.name, data: 'leaf' }] },
          ],
        })
        assert.deepEqual(
          [flow.queue, ...flow.children.map((job) => job.queue), flow.children[1]?.children[0]?.queue],
          [record.queueName, child.queueName, child.queueName, record.queueName],
        )
        const waiting = await jobs().read(record, flow.id)
        assert.deepEqual([waiting.status, waiting.name, waiting.priority], ['waiting', 'sum', 5])
        assert.equal((await jobs().counts(record)).waiting, 2)
        work((job) => job.data * 10, child)
        const parent = work(async (job) => (job.data === 'leaf' ? 0 : Object.values(await job.getChildrenValues()).sort()))
        await times(parent, 'completed', 2)
        assert.deepEqual((await jobs().read(record, flow.id)).result, [10, 20])
        const kept = await store.queue(queue).getJob(flow.id)
        assert.notEqual(kept?.opts.removeOnComplete, undefined)
      })

      it('fail when a child failed for good', async () => {
        const { child, resolve } = parentAndChild()
        const flow = await jobs().addFlow(resolve, { worker: record.name, children: [{ worker: child.name, options: { attempts: 2 } }] })
        let ran = 0
        const parent = work(() => ++ran)
        const end = failed(parent)
        work(() => Promise.reject(new Error('no luck')), child)
        await end
        assert.equal(ran, 0)
        const job = await jobs().read(record, flow.id)
        assert.equal(job.status, 'failed')
        assert.match(job.error ?? '', /child/)
        const below = await jobs().read(child, flow.children[0]?.id ?? '')
        assert.deepEqual([below.error, below.attempts], ['no luck', 2])
      })

      it('are added all or none', async () => {
        const { child, resolve } = parentAndChild()
        const bad = [{ worker: child.name }, { worker: child.name, data: 'a\0b' }]
        await assert.rejects(jobs().addFlow(resolve, { worker: record.name, children: bad }), { code: 'QUEUE_INVALID_JOB' })
        const inactive = async (name: string) => recordOf(name, { activeStatus: name !== child.name })
        await assert.rejects(jobs().addFlow(inactive, { worker: record.name, children: [{ worker: child.name }] }), {
          code: 'WORKER_INACTIVE',
        })
        assert.equal((await jobs().counts(child)).waiting + (await jobs().counts(record)).waiting, 0)
      })

      it('are cancelled with the children that they wait for, unless one of these runs', async () => {
        const { child, resolve } = parentAndChild()
        const flow = () => jobs().addFlow(resolve, { worker: record.name, children: [{ worker: child.name }] })
        const first = await flow()
        assert.equal(await jobs().cancel(record, first.id, 'no'), 'removed')
        await assert.rejects(jobs().read(child, first.children[0]?.id ?? ''), { code: 'JOB_NOT_FOUND' })

        const release = later()
        const worker = work(async () => release.promise, child)
        const active = once(worker, 'active')
        const second = await flow()
        await active
        assert.equal(await jobs().cancel(record, second.id, 'no'), 'removed')
        await assert.rejects(jobs().read(record, second.id), { code: 'JOB_NOT_FOUND' })
        const end = completed(worker)
        release.fire()
        await end
        assert.equal((await jobs().read(child, second.children[0]?.id ?? '')).status, 'completed')
      })
    })

    describe('on a schedule', () => {
      it('are listed for their worker only, changed and removed', async () => {
        const other = recordOf(`${queue}-x`, { queueName: queue })
        const startDate = '2037-03-28T00:00:00.000Z'
        const made = await jobs().schedule(record, 'nightly.report', {
          pattern: '30 2 * * *',
          tz: 'Europe/Berlin',
          startDate,
          options: { name: 'report', attempts: 2 },
        })
        assert.deepEqual(made, {
          id: 'nightly.report',
          worker: record.name,
          name: 'report',
          pattern: '30 2 * * *',
          tz: 'Europe/Berlin',
          startDate,
          nextAt: '2037-03-28T01:30:00.000Z',
        })
        const inUtc = await jobs().schedule(other, 'nightly.report', { pattern: '30 2 * * *', startDate })
        assert.deepEqual([inUtc.tz, inUtc.nextAt], ['UTC', '2037-03-28T02:30:00.000Z'])
        await store.queue(queue).upsertJobScheduler('foreign', { every: 60_000 })
        assert.deepEqual(await jobs().schedules(record), [made])
        const changed = await jobs().schedule(record, 'nightly.report', { every: 3_600_000, startDate, limit: 3 })
        assert.deepEqual((await jobs().schedules(record))[0], changed)
        assert.deepEqual([changed.every, changed.pattern, changed.limit], [3_600_000, undefined, 3])
        await jobs().unschedule(record, 'nightly.report')
        assert.deepEqual(await jobs().schedules(record), [])
        assert.equal((await jobs().schedules(other)).length, 1)
        await assert.rejects(jobs().unschedule(record, 'nightly.report'), { code: 'SCHEDULE_NOT_FOUND', status: 404 })
      })

      it('keep to local time over a change of the clocks', async () => {
        const next = async (pattern: string, startDate: string) =>
          (await jobs().schedule(record, 'dst', { pattern, tz: 'Europe/Berlin', startDate })).nextAt
        assert.equal(await next('0 9 * * *', '2037-03-28T12:00:00Z'), '2037-03-29T07:00:00.000Z')
        assert.equal(await next('0 9 * * *', '2037-03-27T12:00:00Z'), '2037-03-28T08:00:00.000Z')
        assert.equal(await next('30 2 * * *', '2037-03-28T12:00:00Z'), '2037-03-29T01:30:00.000Z')
        assert.equal(await next('30 2 * * *', '2037-10-25T00:45:00Z'), '2037-10-26T01:30:00.000Z')
      })

      it('come as often as their limit says, with their options, and then no more', async () => {
        const worker = work((job) => [job.data, job.attemptsMade])
        const twice = times(worker, 'completed', 2)
        await jobs().schedule(record, 'tick', { every: 1000, limit: 2, data: { n: 1 }, options: { timeout: 60_000, priority: 'High' } })
        await twice
        const found = await store.list(queue, 'completed', { offset: 0, limit: 5 })
        assert.equal(found.length, 2)
        for (const job of found) {
          assert.deepEqual([job.data, job.priority, (job.opts as { timeout?: number }).timeout], [{ n: 1 }, 51, 60_000])
        }
        const [view] = await jobs().schedules(record)
        assert.deepEqual([view?.limit, view?.nextAt], [2, null])
      })

      it('are not cancelled one by one while they wait', async () => {
        await jobs().schedule(record, 'later', { pattern: '0 0 1 1 *' })
        const [next] = await store.list(queue, 'delayed', { offset: 0, limit: 1 })
        await assert.rejects(jobs().cancel(record, next?.id ?? '', 'no'), { code: 'JOB_SCHEDULED', status: 409, message: /"later"/ })
        assert.equal((await jobs().schedules(record)).length, 1)
      })

      it('are refused when they make no sense', async () => {
        for (const [id, spec] of [
          ['a/b', { every: 1000 }],
          ['x', {}],
          ['x', { pattern: '0 0 31 2 *' }],
          ['x', { pattern: '@daily' }],
          ['x', { pattern: '0 0 * * *', tz: 'Mars/Olympus' }],
          ['x', { every: 1000, endDate: '2001-01-01T00:00:00Z' }],
        ] as const) {
          await assert.rejects(jobs().schedule(record, id, spec), { code: 'INVALID_SCHEDULE', status: 400 }, JSON.stringify(spec))
        }
        await assert.rejects(jobs().schedule(record, 'x', { every: 1000, data: 'a\0b' }), { code: 'QUEUE_INVALID_JOB' })
        assert.deepEqual(await jobs().schedules(record), [])
      })
    })

    describe('with listeners that encrypt', () => {
      const seal = async (value: unknown) => ({ sealed: Buffer.from(JSON.stringify(value ?? null)).toString('base64') })
      const unseal = async (value: unknown) => JSON.parse(Buffer.from((value as { sealed: string }).sealed, 'base64').toString())
      const sealing = () =>
        fakeHooks({ transformJobData: seal, restoreJobData: unseal, transformJobResult: seal, restoreJobResult: unseal })

      it('are stored sealed, with their results, and seen plain by processors and the API', async () => {
        hooks = sealing()
        const child = recordOf(`${queue}-child`)
        const seen: unknown[] = []
        work((job) => ({ twice: job.data.n * 2 }), child)
        const parent = work(async (job) => {
          seen.push(job.data)
          await job.updateData({ step: 2 })
          seen.push(job.data)
          return { children: Object.values(await job.getChildrenValues()) }
        })
        const end = completed(parent)
        const flow = await jobs().addFlow(async (name) => (name === child.name ? child : record), {
          worker: record.name,
          data: { secret: 'x' },
          children: [{ worker: child.name, data: { n: 21 } }],
        })
        const [job, stored] = await end
        assert.deepEqual(seen, [{ secret: 'x' }, { step: 2 }])
        const result = { children: [{ twice: 42 }] }
        assert.deepEqual(givenResult(job, stored), result)
        const raw = await store.queue(queue).getJob(flow.id)
        assert.deepEqual([raw?.data, raw?.returnvalue], [await seal({ step: 2 }), await seal(result)])
        assert.deepEqual((await jobs().read(record, flow.id)).result, result)
      })

      it('are sealed in schedules as well', async () => {
        hooks = sealing()
        const worker = work((job) => job.data)
        const end = completed(worker)
        await jobs().schedule(record, 'sealed', { every: 60_000, data: { secret: 1 } })
        const [job] = await end
        assert.deepEqual((await store.queue(queue).getJob(job.id ?? ''))?.data, await seal({ secret: 1 }))
        assert.deepEqual((await jobs().read(record, job.id ?? '')).result, { secret: 1 })
      })

      it('fail for good when their data cannot be restored, and the processor never sees them', async () => {
        const { id } = await jobs().add(record, 'not sealed', { attempts: 5 })
        hooks = sealing()
        let ran = 0
        const worker = work(() => ++ran)
        await failed(worker)
        const job = await jobs().read(record, id)
        assert.equal(ran, 0)
        assert.equal(job.attempts, 1)
        assert.match(job.error ?? '', /data of a job of worker .* cannot be restored/)
      })

      it('are not stored when they cannot be sealed', async () => {
        hooks = fakeHooks({ transformJobData: () => Promise.reject(new Error('no key')) })
        await assert.rejects(jobs().add(record, 1, {}), { code: 'JOB_PAYLOAD_UNSTORABLE', message: /no key/ })
        assert.equal((await jobs().counts(record)).waiting, 0)
      })
    })
  })
}
