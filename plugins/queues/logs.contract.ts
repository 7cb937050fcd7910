import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { mostLogLines } from './backend.js'
import { type Queues, queuesService } from './index.js'

/** The logs of jobs, on both stores. */
export function logsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`logs of jobs on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    /** Runs a job that writes to its log, and returns its queue and id. */
    async function logged(write: (job: Job) => Promise<unknown>): Promise<readonly [queue: string, id: string]> {
      const queue = `logs${++number}`
      const worker = queues.worker(queue, write)
      const ended = new Promise<void>((resolve, reject) => {
        worker.once('completed', () => resolve())
        worker.once('failed', (_job, error) => reject(error))
      })
      const { id = '' } = await queues.add(queue, 'x', {})
      await ended
      await worker.close()
      return [queue, id]
    }

    /** Writes many lines at once, as BullMQ stores them. */
    async function fill({ id = '', queueName }: Job, lines: number): Promise<void> {
      const queue = queues.queue(queueName)
      const backend = queue.getBackend() as unknown as {
        query(text: string, values: readonly unknown[]): Promise<unknown>
        readonly client: Promise<{ rpush(key: string, ...lines: string[]): Promise<unknown> }>
      }
      if (queues.backend === 'embedded') {
        const text = "insert into job_log (queue, job_id, idx, row) select $1, $2, n, 'line ' || n from generate_series(0, $3::int - 1) n"
        await backend.query(text, [queueName, id, lines])
      } else {
        await (await backend.client).rpush(queue.toKey(`${id}:logs`), ...Array.from({ length: lines }, (_, n) => `line ${n}`))
      }
    }

    it('are read from either end, and never more than there is', async () => {
      const [queue, id] = await logged(async (job) => {
        for (const n of [0, 1, 2, 3, 4]) assert.equal(await job.log(`line ${n}`), n + 1)
      })
      const read = async (offset: number, limit: number) => {
        const { logs, ...others } = await queues.logs(queue, id, { offset, limit })
        return [logs.map((line) => line.replace('line ', '')).join(''), others] as const
      }
      const whole = { count: 5, dropped: 0 }
      assert.deepEqual(await read(0, 2), ['01', { ...whole, offset: 0 }])
      assert.deepEqual(await read(3, 10), ['34', { ...whole, offset: 3 }])
      assert.deepEqual(await read(-2, 10), ['34', { ...whole, offset: 3 }])
      assert.deepEqual(await read(-2, 1), ['3', { ...whole, offset: 3 }])
      assert.deepEqual(await read(-100, 1), ['0', { ...whole, offset: 0 }])
      assert.deepEqual(await read(9, 2), ['', { ...whole, offset: 9 }])
      assert.deepEqual(await read(0, 0), ['', { ...whole, offset: 0 }])
      assert.deepEqual(await queues.logs(queue, 'nobody', { offset: -5, limit: 5 }), { logs: [], count: 0, dropped: 0, offset: 0 })
    })

    it('keep the last 10,000 lines under their numbers, and say how many were dropped', async () => {
      const more = 5
      const [queue, id] = await logged(async (job) => {
        await fill(job, mostLogLines - 1)
        let kept = 0
        for (let n = mostLogLines - 1; n < mostLogLines + more; n++) kept = await job.log(`line ${n}`)
        assert.equal(kept, mostLogLines)
      })
      const page = { count: mostLogLines, dropped: more }
      assert.deepEqual(await queues.logs(queue, id, { offset: 0, limit: 1 }), { ...page, offset: more, logs: [`line ${more}`] })
      assert.deepEqual(await queues.logs(queue, id, { offset: 9_000, limit: 1 }), { ...page, offset: 9_000, logs: ['line 9000'] })
      const last = mostLogLines + more - 1
      assert.deepEqual(await queues.logs(queue, id, { offset: -1, limit: 9 }), { ...page, offset: last, logs: [`line ${last}`] })
    })

    it('keep about 16 MiB of the last lines, and at least the last one', async () => {
      const long = 'x'.repeat(1_000_000)
      const [queue, id] = await logged(async (job) => {
        for (let n = 0; n < 20; n++) await job.log(`${n} ${long}`)
      })
      const { count, dropped, logs } = await queues.logs(queue, id, { offset: -1, limit: 1 })
      assert.deepEqual([count + dropped, count, logs[0]?.slice(0, 3)], [20, 16, '19 '])
    })
  })
}
