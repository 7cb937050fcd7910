import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { type Queues, queuesService } from './index.js'
import { done } from './testing/done.js'

/** How many jobs queues hold, and since when they wait, on both stores. */
export function countsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`counts of jobs on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const names = (jobs: readonly Job[]) => jobs.map((job) => job.name)
    const fresh = (): string => `q${++number}`

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

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
      assert.deepEqual(names(await queues.list(queue, 'waiting', { offset: 0, limit: 10 })), ['n0', 'n1', 'n2', 'n3', 'prioritised'])
      assert.deepEqual(names(await queues.list(queue, 'delayed', { offset: 0, limit: 10 })), ['later'])
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

    it('reports since when the running jobs of queues run, longest first', async () => {
      const [busy, empty] = [fresh(), fresh()]
      let end: () => void = () => undefined
      const ended = new Promise<void>((resolve) => (end = resolve))
      const before = Date.now()
      let begin: () => void = () => undefined
      const begun = new Promise<void>((resolve) => (begin = resolve))
      let started = 0
      const worker = queues.worker(busy, () => (++started === 2 ? (begin(), ended) : ended), { concurrency: 2 })
      for (const name of ['a', 'b', 'c']) await queues.add(busy, name, {})
      await begun
      const since = await queues.runningSince([busy, empty, 'nowhere'])
      const [first = 0, second = 0, ...more] = since.get(busy) ?? []
      assert.deepEqual([more, since.get(empty), since.get('nowhere')], [[], [], []])
      assert.ok(before <= first && first <= second && second <= Date.now(), `${before} ${first} ${second}`)
      const finished = done(worker, 3)
      end()
      await finished
      await worker.close()
      assert.deepEqual((await queues.runningSince([busy])).get(busy), [])
      assert.equal((await queues.runningSince([])).size, 0)
      await assert.rejects(queues.runningSince(['a:b']), { code: 'QUEUE_INVALID_NAME' })
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
      // The delayed job was due long ago.
      const overdue = (jobs: number) => (queues.backend === 'redis' ? { overdue: jobs } : {})
      const ofBusy = { counts: { ...none, waiting: 2, delayed: 1 }, paused: true, oldestWaiting: 4000, ...overdue(1) }
      assert.deepEqual(samples.get(busy), ofBusy)
      assert.deepEqual(samples.get(empty), { counts: none, paused: false, oldestWaiting: undefined, ...overdue(0) })
      await queues.queue(busy).resume()
      assert.equal((await queues.sample([busy])).get(busy)?.paused, false)
    })
  })
}
