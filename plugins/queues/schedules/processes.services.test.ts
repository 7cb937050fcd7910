import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it, mock } from 'node:test'
import type { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type Queues, queues, queuesService } from '../index.js'
import { dueOf } from './occurrences.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'
const hour = 3_600_000

describe('the schedules of two processes on one Redis', () => {
  const env = { REDIS_URL, APP_NAME: `test-${randomUUID()}` }
  let hosts: readonly TestHost[] = []
  let both: readonly Queues[] = []
  before(async () => {
    hosts = await Promise.all([0, 1].map(() => createTestHost({ plugins: [queues()], env })))
    both = hosts.map((host) => host.service(queuesService))
  })
  after(() => Promise.all(hosts.map((host) => host.stop())))

  it('never overlap with skip and queue, whichever process takes the next run', async () => {
    for (const overlap of ['skip', 'queue'] as const) {
      let [running, most, ran] = [0, 0, 0]
      const processor = async (): Promise<void> => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 700))
        running--
        ran++
      }
      const workers: Worker[] = both.map((one) => one.worker(overlap, processor, { concurrency: 3 }))
      await both[0]?.schedule(overlap, 's', { pattern: '* * * * * *', tz: 'UTC', overlap }, { name: 'tick' })
      await eventually('several runs', () => ran >= 4)
      assert.equal(most, 1)
      await both[0]?.queue(overlap).removeJobScheduler('s')
      await Promise.all(workers.map((worker) => worker.close()))
    }
  })

  it('leave out missed runs, also when both start at the same moment', async () => {
    const [one] = both as [Queues, Queues]
    await one.schedule('missed', 's', { pattern: '0 * * * *', tz: 'UTC', catchUp: 'none' }, { name: 'tick' })
    const now = Date.now
    const shift = Math.ceil(now() / hour) * hour - now() + 2.5 * hour
    mock.method(Date, 'now', () => now() + shift)
    const ran: (string | undefined)[] = []
    const workers = both.map((each) => each.worker('missed', async (job) => void ran.push(job.id)))
    await Promise.all([...Array(10).keys()].map((i) => one.add('missed', 'plain', i, { jobId: `plain-${i}` })))
    await eventually('the others ran', () => ran.length >= 10)
    assert.deepEqual(
      ran.filter((id) => dueOf('s', id) !== undefined),
      [],
    )
    assert.ok(((await one.schedules('missed'))[0]?.next ?? 0) > Date.now())
    await Promise.all(workers.map((worker) => worker.close()))
    await one.queue('missed').removeJobScheduler('s')
    mock.restoreAll()
  })

  it('are late when a worker of another process was busy, and left out when that process has ended', async () => {
    const [one, two] = both as [Queues, Queues]
    const lockDuration = 2000
    for (const lives of [true, false]) {
      const queue = `lives-${lives}`
      await one.add(queue, 'busy', {})
      let end: () => void = () => undefined
      const other = one.worker(queue, () => new Promise<void>((resolve) => (end = resolve)), { lockDuration, autorun: lives })
      if (lives) await once(other, 'active')
      // Nothing renews the lock of a job that is taken like this.
      else await other.getNextJob('token')
      const first = await one.schedule(queue, 's', { pattern: '* * * * * *', tz: 'UTC', catchUp: 'none' }, { name: 'tick' })
      await eventually('it is due', () => Date.now() > (dueOf('s', first?.id) ?? 0) + 50)
      const ran: (string | undefined)[] = []
      const worker = two.worker(queue, async ({ id, name }) => void (name === 'tick' && ran.push(id)), { lockDuration })
      await eventually('one runs', () => ran.length > 0)
      assert.equal(ran[0] === first?.id, lives)
      await one.queue(queue).removeJobScheduler('s')
      end()
      await Promise.all([worker.close(), other.close()])
    }
  })

  it('run although the job that had their deduplication id is lost, for example to an eviction', async () => {
    const [one] = both as [Queues, Queues]
    const deduplication = { id: 'd' }
    const redis = new Redis(REDIS_URL)
    await redis.set(one.queue('lost').toKey('de:d'), 'gone')
    await redis.quit()
    const ran: string[] = []
    const worker = one.worker('lost', async ({ name }) => void ran.push(name))
    await one.schedule('lost', 's', { every: hour }, { name: 'tick', options: { deduplication } })
    await eventually('it runs', () => ran.includes('tick'))
    await one.queue('lost').removeJobScheduler('s')
    await worker.close()
  })

  it('run once when both store the same schedule at the same moment', async () => {
    const timing = { pattern: '0 0 1 1 *', tz: 'UTC', limit: 2 }
    await Promise.all([...both, ...both].map((one) => one.schedule('same', 's', timing, { name: 'tick' })))
    const [one] = both as [Queues, Queues]
    assert.deepEqual([(await one.schedules('same')).length, (await one.counts('same')).delayed], [1, 1])
  })
})
