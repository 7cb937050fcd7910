import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, before, describe, it } from 'node:test'
import type { Job, Worker } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type JobOptions, type Queues, queuesService } from '../index.js'
import { dueOf } from './occurrences.js'
import type { ScheduleTiming } from './timing.js'

const [hour, day] = [3_600_000, 86_400_000]

/** What becomes of the runs of a schedule that is replaced or removed, on both stores. */
export function replacingContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`the runs of a replaced or removed schedule on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let queue = ''
    let number = 0
    const open: Worker[] = []

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    afterEach(async () => {
      await Promise.all(open.splice(0).map((worker) => worker.close()))
    })
    after(() => host.stop())

    const fresh = (): void => {
      queue = `replaced-${++number}`
    }
    const work = (processor: (job: Job) => Promise<unknown>): Worker => {
      const worker = queues.worker(queue, processor, { concurrency: 3 })
      open.push(worker)
      return worker
    }
    const schedule = (
      timing: ScheduleTiming,
      { data = { n: 1 }, options }: { readonly data?: object; readonly options?: JobOptions } = {},
    ) => queues.schedule(queue, 's', timing, { name: 'tick', data, ...(options && { options }) })
    const remove = () => queues.queue(queue).removeJobScheduler('s')
    const stateOf = async (id = '') => (await queues.job(queue, id))?.state
    const yearly = { pattern: '0 0 1 1 *', tz: 'UTC' } as const
    /** Runs the next one now, and resolves when it is in a state and the one after it is planned. */
    const promote = async (state: string): Promise<number> => {
      const next = async () => (await queues.schedules(queue))[0]?.next ?? 0
      const due = await next()
      const id = `repeat:s:${due}`
      await (await queues.job(queue, id))?.job.promote()
      await eventually(`it is ${state}`, async () => (await stateOf(id)) === state && (await next()) !== due)
      return due
    }

    it('go on after one that has run early, which keeps its outcome', async () => {
      for (const timing of [
        yearly,
        { every: 2 * day, startDate: Date.now() + day },
        { every: hour, startDate: Date.now() + day, catchUp: 'none' },
      ] as const) {
        for (const again of [() => undefined, remove]) {
          fresh()
          await schedule(timing)
          const worker = work(() => Promise.resolve('ran early'))
          const [first, second] = [await promote('completed'), await promote('completed')]
          await worker.close()
          await again()
          const next = await schedule(timing, { data: { n: 2 } })
          const due = dueOf('s', next?.id) ?? 0
          assert.ok(due > second && second > first, `${JSON.stringify(timing)}: ${[first, second, due]}`)
          const { completed, delayed } = await queues.counts(queue)
          assert.deepEqual([completed, delayed], [2, 1])
          const run = (await queues.job(queue, `repeat:s:${second}`))?.job
          assert.deepEqual([run?.returnvalue, run?.data, next?.data], ['ran early', { n: 1 }, { n: 2 }])
        }
      }
    })

    it('go on beside one that was started early and still runs, or waits for its retry', async () => {
      for (const state of ['active', 'delayed'] as const) {
        fresh()
        await schedule(yearly, { options: { attempts: 2, backoff: { type: 'fixed', delay: hour } } })
        let end: () => void = () => undefined
        const worker = work(() => (state === 'delayed' ? Promise.reject(new Error('no')) : new Promise<void>((resolve) => (end = resolve))))
        const first = await promote(state)
        const next = await schedule(yearly, { data: { n: 2 } })
        assert.ok((dueOf('s', next?.id) ?? 0) > first)
        assert.deepEqual([await stateOf(`repeat:s:${first}`), await stateOf(next?.id)], [state, 'delayed'])
        if (state === 'active') {
          const ended = once(worker, 'completed')
          end()
          await ended
          assert.equal(await stateOf(`repeat:s:${first}`), 'completed')
        }
      }
    })

    it('are gone with it while they wait, however they wait, and those that run end', async () => {
      const far = Date.now() + day
      for (const [options, due] of [
        [{}, Date.now()],
        [{ priority: 3 }, Date.now()],
        [{}, far],
      ] as const) {
        for (const paused of [true, false]) {
          fresh()
          if (paused) await queues.queue(queue).pause()
          const job = await schedule({ every: hour, startDate: due }, { options })
          assert.equal((await stateOf(job?.id)) === 'delayed', due === far)
          assert.equal(await remove(), true)
          assert.deepEqual([await stateOf(job?.id), await remove()], [undefined, false], JSON.stringify([options, due === far, paused]))
        }
      }
      fresh()
      let end: () => void = () => undefined
      const worker = work(() => new Promise<void>((resolve) => (end = resolve)))
      const job = await schedule({ every: hour, overlap: 'queue' })
      await eventually('it runs', async () => (await stateOf(job?.id)) === 'active')
      await (await queues.job(queue, `repeat:s:${(await queues.schedules(queue))[0]?.next}`))?.job.promote()
      await eventually('the next one waits for it', async () => (await queues.counts(queue)).delayed === 1)
      await remove()
      assert.equal((await queues.counts(queue)).delayed, 0)
      const ended = once(worker, 'completed')
      end()
      await ended
      const { active, completed, delayed, waiting } = await queues.counts(queue)
      assert.deepEqual([active, completed, delayed, waiting], [0, 1, 0, 0])
    })

    it('keep their retries when they were the last ones and have begun, and are jobs like others', async () => {
      const timing = { every: hour, limit: 1 }
      const options: JobOptions = { attempts: 2, backoff: { type: 'fixed', delay: hour } }
      for (const change of [remove, () => schedule(yearly, { options }), () => schedule({ ...timing, every: 2 * hour }, { options })]) {
        fresh()
        const worker = work(() => Promise.reject(new Error('no')))
        const failed = once(worker, 'failed')
        const job = await schedule(timing, { options })
        await failed
        await worker.close()
        await change()
        const found = await queues.job(queue, job?.id ?? '')
        assert.deepEqual([found?.state, found?.job.attemptsMade], ['delayed', 1])
      }
      fresh()
      const worker = work(() => Promise.reject(new Error('no')))
      const end = async (by: (id: string) => Promise<unknown>): Promise<unknown> => {
        const failed = once(worker, 'failed')
        const job = await schedule(timing, { options })
        await failed
        await eventually('it waits for its retry', async () => (await stateOf(job?.id)) === 'delayed')
        const outcome = await by(job?.id ?? '')
        await remove()
        return outcome
      }
      assert.equal(await end(async (id) => (await queues.cancel(queue, id, 'no')).outcome), 'removed')
      assert.equal(await end((id) => queues.deleteJob(queue, id, { batch: 'b', ms: hour })), 'restorable')
      assert.equal(await end(async (id) => (await queues.purge(queue, [id])).removed.length), 1)
    })
  })
}
