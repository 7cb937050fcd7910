import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { signal } from '../testing/signal.js'
import { describeAttempts } from './attempts.contract.js'
import { describeCancel } from './cancel.contract.js'
import { describeFlows } from './flows.contract.js'
import { describeLateLocks } from './late-locks.contract.js'
import { describeLostLocks } from './lost-locks.contract.js'
import { describeResults } from './results.contract.js'
import { describeSchedules } from './schedules.contract.js'
import { fakeHooks } from './testing/fake-hooks.js'
import { JobLab, listening } from './testing/job-lab.js'

/** The jobs of workers, in the store that the environment selects. */
export function jobsContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`jobs of workers on ${title}`, () => {
    const lab = new JobLab(env)

    describe('added', () => {
      it('run by priority, and are read with the level with which they were added', async () => {
        const ids: string[] = []
        for (const priority of ['Low', 'Normal', 'Critical', 'High', 7] as const) {
          ids.push((await lab.jobs().add(lab.record, null, { name: String(priority), priority })).id)
        }
        const levels = await Promise.all(ids.map(async (id) => (await lab.jobs().read(lab.record, id)).priority))
        assert.deepEqual(levels, [0, 1, 10, 5, 7])
        const order: string[] = []
        const worker = lab.work((job) => void order.push(job.name))
        await worker.times('completed', 5)
        assert.deepEqual(order, ['Critical', '7', 'High', 'Normal', 'Low'])
        await lab.store.add(lab.queue, 'foreign', null)
        const [foreign] = await lab.store.list(lab.queue, 'waiting', { offset: 0, limit: 1 })
        if (foreign?.id) assert.equal((await lab.jobs().read(lab.record, foreign.id)).priority, null)
      })

      it('wait for their delay, and report their progress', async () => {
        const { id } = await lab.jobs().add(lab.record, null, { delay: 150 })
        assert.equal((await lab.jobs().read(lab.record, id)).status, 'delayed')
        const seen = signal<unknown>()
        const worker = lab.work(async (job) => {
          await job.updateProgress({ done: 3 })
          seen.fire((await lab.jobs().read(lab.record, id)).progress)
          return Date.now()
        })
        const [{ timestamp }, ranAt] = await worker.completed()
        assert.ok((ranAt as number) >= timestamp + 150, `ran after ${(ranAt as number) - timestamp} ms`)
        assert.deepEqual(await seen.promise, { done: 3 })
      })

      it('are retried after their backoff, and each attempt is counted once', async () => {
        const at: number[] = []
        const worker = lab.work((job) => {
          at.push(Date.now())
          if (job.attemptsMade < 2) throw new Error('not yet')
          return 'done'
        })
        const { id } = await lab.jobs().add(lab.record, null, { attempts: 3, backoff: { type: 'fixed', delay: 80 } })
        await worker.completed()
        const [first = 0, second = 0, third = 0] = at
        assert.ok(second - first >= 75 && third - second >= 75, `at ${at}`)
        assert.deepEqual(lab.counted(), [{ version: '1.0.0', completed: 1, failed: 2 }])
        const job = await lab.jobs().read(lab.record, id)
        assert.deepEqual([job.status, job.attempts, job.maxAttempts, job.result, job.error], ['completed', 3, 3, 'done', null])
      })

      it('are deduplicated while a job with the same id waits or runs, and not after that', async () => {
        const add = async () => (await lab.jobs().add(lab.record, null, { deduplication: { id: 'report:7' } })).id
        const first = await add()
        assert.equal(await add(), first)
        const begun = signal()
        const release = signal()
        const worker = lab.work(async () => {
          begun.fire()
          await release.promise
        })
        await begun.promise
        assert.equal(await add(), first)
        const done = worker.completed()
        release.fire()
        await done
        const second = await add()
        assert.notEqual(second, first)
        assert.equal((await lab.jobs().counts(lab.record)).completed >= 1, true)
      })

      it('are deduplicated for their ttl, even after the existing job is done', async () => {
        const add = async () => (await lab.jobs().add(lab.record, null, { deduplication: { id: 'once', ttl: 60_000 } })).id
        const worker = lab.work(() => 1)
        const done = worker.completed()
        const first = await add()
        await done
        assert.equal(await add(), first)
      })

      it('are no longer deduplicated after the existing job was cancelled', async () => {
        const add = async () => (await lab.jobs().add(lab.record, null, { deduplication: { id: 'x' } })).id
        const first = await add()
        assert.equal(await lab.jobs().cancel(lab.record, first, 'no'), 'removed')
        assert.notEqual(await add(), first)
      })

      it('get the options that a listener returns, when they are valid', async () => {
        lab.hooks = fakeHooks({ transformJobOptions: async (plan) => ({ ...plan, priority: 10, attempts: plan.name === 'bad' ? 0 : 4 }) })
        const { id } = await lab.jobs().add(lab.record, null, {})
        const job = await lab.jobs().read(lab.record, id)
        assert.deepEqual([job.priority, job.maxAttempts], [10, 4])
        await assert.rejects(lab.jobs().add(lab.record, null, { name: 'bad' }), { code: 'INVALID_JOB_OPTIONS' })
      })

      it('report since when the oldest of all priorities has waited', async () => {
        assert.equal(await lab.jobs().oldestWaiting(lab.record), undefined)
        const low = await lab.jobs().add(lab.record, null, { priority: 'Low' })
        await new Promise((resolve) => setTimeout(resolve, 5))
        await lab.jobs().add(lab.record, null, { priority: 'Critical' })
        await lab.jobs().add(lab.record, null, { delay: 60_000 })
        const { createdAt } = await lab.jobs().read(lab.record, low.id)
        assert.equal(await lab.jobs().oldestWaiting(lab.record), Date.parse(createdAt))
      })
    })

    describe('with a rate limit', () => {
      it('are deferred by it without using up an attempt', async () => {
        const limited = { ...lab.record, rateLimit: { max: 2, duration: 150 } }
        const at: number[] = []
        for (let i = 0; i < 4; i++) await lab.jobs().add(limited, null, {})
        const worker = lab.work((job) => void at.push(job.processedOn ?? 0), limited)
        await worker.times('completed', 4)
        assert.ok((at[2] ?? 0) - (at[0] ?? 0) >= 140, `at ${at}`)
        assert.deepEqual(lab.counted(), [{ version: '1.0.0', completed: 4 }])
      })

      it('are deferred by their processor without using up an attempt', async () => {
        let runs = 0
        const worker = lab.work(async (job, token) => {
          if (++runs > 1) return 'done'
          await job.moveToDelayed(Date.now() + 20, token)
          const error = new Error('later')
          error.name = 'DelayedError'
          throw error
        })
        const { id } = await lab.jobs().add(lab.record, null, { timeout: 60_000 })
        await worker.completed()
        assert.equal(runs, 2)
        assert.deepEqual(lab.counted(), [{ version: '1.0.0', completed: 1 }])
        assert.equal((await lab.jobs().read(lab.record, id)).result, 'done')
      })
    })

    describe('with a timeout', () => {
      it('fail with JOB_TIMEOUT when it expires, which is also the reason of their signal', async () => {
        let reason: unknown
        const worker = lab.work((_job, _token, signal) => {
          signal?.addEventListener('abort', () => {
            reason = signal.reason
          })
          return listening(_job, _token, signal)
        })
        const { id } = await lab.jobs().add(lab.record, null, { timeout: 30 })
        const [, error] = await worker.failed()
        assert.equal(error.code, 'JOB_TIMEOUT')
        assert.equal(reason, error)
        assert.equal((reason as Error).name, 'TimeoutError')
        assert.match((await lab.jobs().read(lab.record, id)).error ?? '', /longer than its timeout of 30 ms/)
        assert.deepEqual(lab.counted(), [{ version: '1.0.0', failed: 1, timedOut: 1 }])
      })

      it('fail even when the processor ignores its signal, and the worker continues', async () => {
        const stuck = signal()
        const worker = lab.work(async (job) => (job.name === 'stuck' ? stuck.promise : 'fine'))
        await lab.jobs().add(lab.record, null, { name: 'stuck', timeout: 20 })
        const [, error] = await worker.failed()
        assert.equal(error.code, 'JOB_TIMEOUT')
        const next = worker.completed()
        await lab.jobs().add(lab.record, null, { timeout: 60_000 })
        assert.equal((await next)[1], 'fine')
        stuck.fire()
      })

      it('use that of the worker when they have none, even when other code added them', async () => {
        const impatient = { ...lab.record, jobOptions: { timeout: 25 } }
        const worker = lab.work(listening, impatient)
        const first = worker.failed()
        await lab.store.add(lab.queue, 'plain', null)
        assert.equal((await first)[1].code, 'JOB_TIMEOUT')
        const own = await lab.jobs().add(impatient, null, {})
        assert.equal(((await lab.store.queue(lab.queue).getJob(own.id))?.opts as { timeout?: number }).timeout, 25)
      })
    })

    describeResults(lab)
    describeAttempts(lab)
    describeCancel(lab)
    // The embedded store serves one process, and gives the lock to the last caller.
    describeLateLocks(lab)
    if (env.REDIS_URL !== undefined) describeLostLocks(lab)
    describeFlows(lab)
    describeSchedules(lab)
  })
}
