import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import type { Job } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type Queues, queuesService } from './index.js'
import { done } from './testing/done.js'

/** Recurring jobs, on both stores. */
export function schedulesContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`schedules on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `q${++number}`

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

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

    it('plans schedules again when the clock goes back by an hour, and keeps those with a longer period, or whose runs were started early', {
      timeout: 60_000,
    }, async () => {
      const queue = fresh()
      const now = Date.now
      const planned = async () => {
        const all = await queues.queue(queue).getJobSchedulers()
        return new Map(all.map(({ key, next = 0 }) => [key, next]))
      }
      let ran = new Set<string>()
      let both: () => void = () => undefined
      const wait = () => new Promise<void>((resolve) => ((ran = new Set()), (both = resolve)))
      const worker = queues.worker(queue, async (job) => {
        if (job.name !== 'early') ran.add(job.name)
        if (ran.size === 2) both()
      })
      await worker.waitUntilReady()
      await queues.schedule(queue, 'early', { pattern: '0 0 * * *', tz: 'UTC' }, { name: 'early' })
      for (let run = 0; run < 3; run++) {
        const next = (await planned()).get('early')
        const job = (await queues.queue(queue).getJob(`repeat:early:${next}`)) as Job | undefined
        await job?.promote()
        await eventually('the next one is planned', async () => (await planned()).get('early') !== next)
      }
      mock.method(Date, 'now', () => now() + 3_600_000)
      const once = wait()
      await queues.schedule(queue, 'every', { every: 600_000, limit: 5 }, { name: 'every', data: { n: 1 } })
      await queues.schedule(queue, 'pattern', { pattern: '* * * * * *', tz: 'UTC' }, { name: 'pattern' })
      await queues.schedule(queue, 'yearly', { pattern: '0 0 1 1 *', tz: 'UTC' }, { name: 'yearly' })
      await once
      const before = await planned()
      const again = wait()
      mock.restoreAll()
      await again
      const after = await planned()
      for (const kept of ['yearly', 'early']) assert.equal(after.get(kept), before.get(kept), kept)
      assert.ok((after.get('every') ?? 0) <= now() + 600_000, `${after.get('every')}`)
      assert.deepEqual((await queues.queue(queue).getJobScheduler('every'))?.template?.data, { n: 1 })
      await worker.close()
      for (const id of before.keys()) await queues.queue(queue).removeJobScheduler(id)
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
  })
}
