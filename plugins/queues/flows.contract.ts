import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { FlowJob } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { type Queues, queuesService } from './index.js'

/** Trees of jobs, on both stores. */
export function flowsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`flows on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `q${++number}`

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

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

    it('adds nothing when the root has a jobId that exists, also when its children have ended', async () => {
      const queue = fresh()
      const ran: string[] = []
      const worker = queues.worker(queue, async (job) => void ran.push(job.name))
      const add = () =>
        queues.addFlow({ name: 'root', queueName: queue, opts: { jobId: 'root' }, children: [{ name: 'leaf', queueName: queue }] })
      const ended = new Promise<void>((resolve) => worker.on('completed', ({ name: job }) => job === 'root' && resolve()))
      await add()
      await ended
      assert.equal((await add()).job.id, 'root')
      const { completed, waiting, waitingChildren } = await queues.counts(queue)
      assert.deepEqual([ran, completed, waiting, waitingChildren], [['leaf', 'root'], 2, 0, 0])
      await worker.close()
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
      for (const opts of [
        { opts: { deduplication: { id: 'd' } } },
        { children: [{ name: 'a', queueName: children, opts: { deduplication: { id: 'd' } } }] },
      ])
        await assert.rejects(queues.addFlow({ name: 'sum', queueName: parents, ...opts } as FlowJob), {
          code: 'QUEUE_INVALID_JOB',
          message: /takes no deduplication/,
        })
      assert.equal((await queues.counts(children)).waiting, 1)
      assert.equal((await queues.counts(parents)).waitingChildren, 1)
    })
  })
}
