import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Job, Worker } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type JobDeduplication, type Queues, queuesService } from './index.js'
import { done } from './testing/done.js'

const untilDone = [
  { id: 'd' },
  { id: 'd', mode: 'keep-latest' },
  { id: 'd', mode: 'debounce', ttl: 20 },
] as const satisfies readonly JobDeduplication[]

/** Who holds a deduplication id when jobs are retried, or are added with the id of a job that exists, on both stores. */
export function deduplicationContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`deduplication ids on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `dedup${++number}`
    const open: Worker[] = []
    const worker = (queue: string, run: (job: Job) => Promise<unknown>): Worker => {
      const made = queues.worker(queue, run)
      open.push(made)
      return made
    }
    const waiting = async (queue: string) => (await queues.counts(queue)).waiting

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(async () => {
      await Promise.all(open.map((one) => one.close(true)))
      await host.stop()
    })

    /** A job that has failed, in a queue that is paused afterwards. */
    const failed = async (queue: string, deduplication: JobDeduplication): Promise<string> => {
      const consumer = worker(queue, () => Promise.reject(new Error('no')))
      const ended = once(consumer, 'failed')
      const { id = '' } = await queues.add(queue, 'x', { n: 1 }, { deduplication })
      await ended
      await consumer.close()
      await queues.queue(queue).pause()
      return id
    }

    for (const deduplication of untilDone) {
      const mode = 'mode' in deduplication ? deduplication.mode : 'until-done'

      it(`is held again by a failed job that is retried, with ${mode}, until it has ended`, async () => {
        const queue = fresh()
        const id = await failed(queue, deduplication)
        await queues.retry(queue, id)
        const again = await queues.add(queue, 'x', { n: 2 }, { deduplication })
        assert.deepEqual([again.id, again.deduplicated, await waiting(queue)], [id, true, 1])
        assert.deepEqual((await queues.job(queue, id))?.job.data, { n: mode === 'until-done' ? 1 : 2 })
        const consumer = worker(queue, async () => 'done')
        const ended = once(consumer, 'completed')
        await queues.queue(queue).resume()
        await ended
        await consumer.close()
        assert.equal((await queues.add(queue, 'x', {}, { deduplication })).deduplicated, false)
      })

      it(`stays with the later job when an earlier one is retried, with ${mode}`, async () => {
        const queue = fresh()
        const id = await failed(queue, deduplication)
        const later = await queues.add(queue, 'x', { n: 2 }, { deduplication: { id: 'd' } })
        await queues.retry(queue, id)
        assert.equal(await waiting(queue), 2)
        const third = await queues.add(queue, 'x', { n: 3 }, { deduplication: { id: 'd' } })
        assert.deepEqual([third.id, third.deduplicated], [later.id, true])
      })
    }

    it('is not held again by a retried job whose ttl is over', async () => {
      const queue = fresh()
      const deduplication = { id: 'd', ttl: 1 }
      const id = await failed(queue, deduplication)
      await queues.retry(queue, id)
      await eventually('its ttl is over', async () => !(await queues.add(queue, 'x', {}, { deduplication })).deduplicated)
    })

    it('is never held by a job that has the jobId of the added one and exists already', async () => {
      for (const deduplication of [...untilDone, { id: 'd', ttl: 60_000 }]) {
        const queue = fresh()
        const consumer = worker(queue, async () => 'done')
        const ended = done(consumer, 2)
        await queues.add(queue, 'x', {}, { jobId: 'plain' })
        await queues.add(queue, 'x', {}, { jobId: 'other', deduplication: { id: 'e' } })
        await ended
        await consumer.close()
        await queues.queue(queue).pause()
        await queues.add(queue, 'x', {}, { jobId: 'waits' })
        for (const jobId of ['plain', 'other', 'waits']) {
          const again = await queues.add(queue, 'x', {}, { jobId, deduplication })
          assert.deepEqual([again.id, again.deduplicated], [jobId, true])
        }
        const [bulk] =
          'mode' in deduplication ? [] : await queues.addBulk(queue, [{ name: 'x', options: { jobId: 'plain', deduplication } }])
        assert.notEqual(bulk?.deduplicated, false)
        const next = await queues.add(queue, 'x', {}, { deduplication })
        assert.deepEqual([next.deduplicated, JSON.stringify(deduplication)], [false, JSON.stringify(deduplication)])
      }
    })
  })
}
