import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { countsContract } from './counts.contract.js'
import { deduplicationContract } from './deduplication.contract.js'
import { eventsContract } from './events.contract.js'
import { flowRecoveryContract } from './flow-recovery.contract.js'
import { flowsContract } from './flows.contract.js'
import { type Queues, queues, queuesService } from './index.js'
import { jobOptionsContract } from './job-options.contract.js'
import { logsContract } from './logs.contract.js'
import { queuesContract } from './queues.contract.js'
import { policiesContract } from './schedules/policies.contract.js'
import { replacingContract } from './schedules/replacing.contract.js'
import { schedulesContract } from './schedules.contract.js'
import { seamsContract } from './seams.contract.js'
import { telemetryContract } from './telemetry.contract.js'
import { done } from './testing/done.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

const onRedis = async () => ({ plugins: [queues()], env: { REDIS_URL, APP_NAME: `test-${randomUUID()}` } })
for (const contract of [
  ...[queuesContract, countsContract, eventsContract, flowsContract, flowRecoveryContract, jobOptionsContract, logsContract],
  ...[schedulesContract, policiesContract, replacingContract, deduplicationContract, seamsContract, telemetryContract],
])
  contract('Redis', onRedis)

describe('queues on an unreachable Redis', () => {
  it('stop the boot after a bounded time, without user or password in the message', async () => {
    const env = { REDIS_URL: 'redis://someone:hunter2@127.0.0.1:1/0', REDIS_CONNECT_TIMEOUT_MS: '300' }
    await assert.rejects(createTestHost({ plugins: [queues()], env }), (error) => {
      assert.match(String(error), /Redis at 127\.0\.0\.1:1 could not be reached within 300 ms.*REDIS_URL/)
      assert.doesNotMatch(String(error), /hunter2|someone/)
      return true
    })
  })
})

describe('two apps on one Redis', () => {
  it("do not see each other's jobs, whatever alphabet their names are in", async () => {
    const run = randomUUID()
    const start = (name: string) => createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME: `${name}${run}` } })
    const [one, two] = await Promise.all([start('商店'), start('订单')])
    await one.service(queuesService).add('emails', 'job', {})
    assert.equal((await one.service(queuesService).counts('emails')).waiting, 1)
    assert.equal((await two.service(queuesService).counts('emails')).waiting, 0)
    await Promise.all([one.stop(), two.stop()])
  })
})

describe('queues on Redis with custom settings', () => {
  const APP_NAME = `test-${randomUUID()}`
  let host: TestHost
  let service: Queues
  before(async () => {
    host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME, QUEUE_MAX_JOB_BYTES: '1024' } })
    service = host.service(queuesService)
  })
  after(() => host.stop())

  it('accept jobs of QUEUE_MAX_JOB_BYTES and no larger ones', async () => {
    const text = (bytes: number) => 'x'.repeat(bytes - '""'.length)
    assert.ok((await service.add('sized', 'job', text(1024))).id)
    await assert.rejects(service.add('sized', 'job', text(1025)), { code: 'PAYLOAD_TOO_LARGE', message: /1025 bytes.*the limit is 1024/ })
  })

  it('refuse what a processor writes above QUEUE_MAX_JOB_BYTES, and fail a job with a larger result once', async () => {
    const text = (bytes: number) => 'x'.repeat(bytes - '""'.length)
    const refused = { code: 'PAYLOAD_TOO_LARGE', message: /1025 bytes.*the limit is 1024/ }
    const worker = service.worker('writes', async (job) => {
      await assert.rejects(job.updateData(text(1025)), refused)
      await assert.rejects(job.updateProgress(text(1025)), refused)
      await assert.rejects(job.log(text(1025)), refused)
      await job.updateData(text(1024))
      await job.updateProgress(text(1024))
      await job.log(text(1024))
      return text(job.name === 'good' ? 1024 : 1025)
    })
    const ended = Promise.all([once(worker, 'completed'), once(worker, 'failed')])
    const [good, bad] = await service.addBulk(
      'writes',
      ['good', 'bad'].map((name) => ({ name, options: { attempts: 3 } })),
    )
    const [, [, error]] = (await ended) as unknown as [unknown, [unknown, Error & { code: string }]]
    assert.equal(error.code, 'JOB_RESULT_TOO_LARGE')
    const jobs = await Promise.all([good, bad].map(async (job) => (await service.job('writes', job?.id ?? ''))?.job))
    assert.deepEqual(
      jobs.map((job) => [job?.attemptsMade, job?.data, job?.progress]),
      [1, 1].map((attempts) => [attempts, text(1024), text(1024)]),
    )
    assert.match(jobs[1]?.failedReason ?? '', /1025 bytes of JSON, and the limit is 1024/)
  })

  it('keep the newest 1000 completed jobs, including those of another producer, plus those completed since the last removal', async () => {
    const url = new URL(REDIS_URL)
    const connection = { host: url.hostname, port: Number(url.port), db: Number(url.pathname.slice(1)) }
    const bare = new Queue('bare', { connection, prefix: `{${APP_NAME}}` })
    await bare.addBulk(Array.from({ length: 525 }, (_, i) => ({ name: `job-${i}`, data: {} })))
    await bare.close()
    await service.addBulk(
      'bare',
      Array.from({ length: 525 }, (_, i) => ({ name: `job-${525 + i}` })),
    )
    await done(
      service.worker('bare', async () => undefined, { concurrency: 50 }),
      1050,
    )
    // Removed with the first, the 21st, …, the 1041st.
    assert.equal((await service.counts('bare')).completed, 1009)
  })

  it('keep as many completed jobs as their own retention allows', async () => {
    const options = { removeOnComplete: { count: 5 } }
    await service.addBulk('few', Array(30).fill({ name: 'job', options }))
    await done(
      service.worker('few', async () => undefined),
      30,
    )
    assert.equal((await service.counts('few')).completed, 5)
  })
})

describe('a worker on Redis that is closed before its job has ended', () => {
  it('does not reconnect when the job ends', async () => {
    const host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME: `test-${randomUUID()}` } })
    const service = host.service(queuesService)
    let end = (): void => undefined
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    try {
      const worker = service.worker('late', () => held)
      const active = once(worker, 'active')
      await service.add('late', 'job', {})
      await active
      const pausing = worker.pause()
      await worker.close(true)
      end()
      await assert.rejects(pausing, /Connection is closed/)
    } finally {
      await host.stop()
    }
  })
})

describe('a worker that returns a job to its queue on Redis', () => {
  it('wakes an idle one, whether or not the job has a priority', async () => {
    const host = await createTestHost({ plugins: [queues()], env: { REDIS_URL, APP_NAME: `test-${randomUUID()}` } })
    const service = host.service(queuesService)
    const redis = new Redis(REDIS_URL)
    for (const [queue, priority] of [
      ['plain', 0],
      ['urgent', 5],
    ] as const) {
      const begun = new EventEmitter()
      const first = service.worker(queue, async (job, token) => {
        begun.emit('job')
        await eventually('the other worker waits', async () => (await redis.exists(service.queue(queue).toKey('marker'))) === 0)
        await first.pause(true)
        await job.moveToWait(token)
        throw Object.assign(new Error('returned'), { name: 'WaitingError' })
      })
      // A worker may take the job before its producer knows that it was added.
      const taken = once(begun, 'job')
      const { id } = await service.add(queue, 'job', {}, { priority })
      await taken
      // It polls after an hour. The marker of the first fetch may be left, and it uses that up.
      const second = service.worker(queue, async () => 'done', { drainDelay: 3600 })
      const [job] = (await once(second, 'completed')) as [{ readonly id: string }]
      assert.equal(job.id, id)
    }
    redis.disconnect()
    await host.stop()
  })
})
