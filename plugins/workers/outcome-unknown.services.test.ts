import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'
import { type LostReplies, openRelay, type Relay } from '../../scripts/testing/relay.js'
import { workers, workersService } from './index.js'

const worker = 'outcomes'
const unknown = { code: 'JOB_OUTCOME_UNKNOWN', status: 503 }

describe('a change of jobs whose confirmation is lost', () => {
  let redis: RedisServer
  let relay: Relay
  let host: TestHost
  const lost: LostReplies = { count: 0 }
  before(async () => {
    redis = await redisServer()
    relay = await openRelay({ host: '127.0.0.1', port: Number(new URL(redis.url).port) }, lost)
    host = await createTestHost({
      plugins: [kv(), cluster(), queues(), ops(), workers({ jobLockMs: 300_000 })],
      env: { REDIS_URL: `redis://127.0.0.1:${relay.port}`, WORKER_PERSISTENCE_DRIVER: 'memory' },
    })
    await host.service(workersService).create({ name: worker, queueName: worker, processor: () => 1 })
  })
  after(async () => {
    redis.resume()
    await host.stop()
    await relay.cut()
    await redis.stop()
  })

  const service = () => host.service(workersService)
  const jobs = () => host.service(queuesService)
  const waiting = async () => {
    const { waiting: plain, waitingChildren, delayed } = await jobs().counts(worker)
    return plain + waitingChildren + delayed
  }
  const connected = () =>
    eventually('the connection is back', () =>
      waiting().then(
        () => true,
        () => false,
      ),
    )
  /** Makes a change whose confirmation is lost: that of the next command with the text. */
  const losing = async (text: string, change: () => Promise<unknown>, message = /./): Promise<void> => {
    lost.to = text
    await assert.rejects(change, { ...unknown, message })
    assert.equal(lost.to, undefined, 'the change was sent')
    await connected()
  }

  it('runs a job that was taken while the reply is lost, without waiting for the end of its lock', async () => {
    const ran: unknown[] = []
    await service().create({ name: 'taken', queueName: 'taken', processor: async ({ data }) => void ran.push(data) })
    await service().start('taken')
    await service().enqueue('taken', 1)
    await eventually('it works', () => ran.length === 1)
    for (const job of [2, 3, 4]) {
      // Only the commands that take a job or end one have this key.
      lost.to = 'taken:limiter'
      await service().enqueue('taken', job)
      await eventually('the job runs', () => ran.includes(job))
      assert.equal(lost.to, undefined, 'a reply was lost')
    }
    assert.deepEqual(ran.toSorted(), [1, 2, 3, 4])
    await service().remove('taken')
  })

  it('is unknown, and says how to repeat it', async () => {
    await losing('no-id', () => service().enqueue(worker, 'no-id'), /may add the job twice; jobs with a jobId can be repeated/)
    assert.equal(await waiting(), 1, 'it was added')
  })

  const adds: Readonly<Record<string, { readonly text: string; readonly jobs: number; add(): Promise<unknown> }>> = {
    'a job': { text: 'lost-job', jobs: 1, add: () => service().enqueue(worker, 'lost-job', { jobId: 'lost-job' }) },
    'a flow': {
      text: 'lost-tree',
      jobs: 4,
      add: () =>
        service().enqueueFlow({
          worker,
          data: 'lost-tree',
          options: { jobId: 'lost-flow' },
          children: [
            { worker, data: 1, children: [{ worker, data: 2 }] },
            { worker, data: 3 },
          ],
        }),
    },
    'many jobs': {
      text: 'lost-bulk',
      jobs: 2,
      add: () =>
        jobs().addBulk(
          worker,
          ['lost-bulk-1', 'lost-bulk-2'].map((jobId) => ({ name: 'bulk', options: { jobId } })),
        ),
    },
    // Only the command that stores it has its data.
    'a schedule': {
      text: 'lost-data',
      jobs: 1,
      add: () => service().schedule(worker, 'lost-schedule', { pattern: '0 0 1 1 *', data: 'lost-data' }),
    },
  }
  for (const [what, { text, jobs: count, add }] of Object.entries(adds))
    it(`leaves ${what} added once after it is repeated`, async () => {
      const had = await waiting()
      await losing(text, add)
      assert.equal(await waiting(), had + count, 'the first attempt was stored')
      await add()
      await add()
      assert.equal(await waiting(), had + count)
    })

  it('leaves a job added once over HTTP, and the body names the code and what to do', async () => {
    const had = await waiting()
    const body = { data: 'over-http', options: { jobId: 'over-http' } }
    const request = { method: 'POST', path: `/api/workers/${worker}/jobs`, headers: { 'x-requested-with': 'test' }, body }
    lost.to = 'over-http'
    const first = await host.inject(request)
    assert.deepEqual([first.status, first.body.code], [503, 'JOB_OUTCOME_UNKNOWN'])
    assert.match(first.body.message, /same jobId/)
    await eventually('the connection is back', async () => (await host.inject(request)).status === 202)
    assert.equal(await waiting(), had + 1)
  })

  it('is not unknown when it was not sent', async () => {
    await relay.cut()
    try {
      // Until the client notices, it sends into a connection that nobody reads.
      await eventually('the connection is known to be down', () =>
        service()
          .enqueue(worker, 1)
          .then(
            () => false,
            ({ code }: { readonly code: string }) => code === 'QUEUE_CONNECTION_ERROR',
          ),
      )
    } finally {
      await relay.listen()
    }
  })

  it('is unknown when the store hangs, and repeating it then adds nothing', async () => {
    await connected()
    const had = await waiting()
    redis.hang()
    const failures = ['hung-1', 'hung-2'].map((jobId) => assert.rejects(service().enqueue(worker, 1, { jobId }), unknown))
    await Promise.all(failures)
    redis.resume()
    await eventually('the jobs are added again', async () => {
      try {
        for (const jobId of ['hung-1', 'hung-2']) await service().enqueue(worker, 1, { jobId })
        return true
      } catch {
        return false
      }
    })
    assert.equal(await waiting(), had + 2)
  })
})
