import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JobDetails, JobPage, QueueMonitor, QueueStats } from 'zin/plugins/queue-monitor'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { failingVersions } from '../shared/failing-versions.js'
import { AttentionService } from './attention.js'
import { retriedJob, troubleOf } from './items.js'
import { RetriedJobs } from './retried-jobs.js'

const counted = (version: string, completed: number, failed: number) => ({ worker: 'mails', version, completed, failed })

describe('what needs attention', () => {
  it('includes a worker that has failed on all nodes or on some, and a version that a node cannot run', () => {
    const rollout = { version: '2.0.0', state: 'halted', taken: 0, of: 2, node: 'b', error: 'no such module' } as const
    const found = (changes: Partial<WorkerView>) =>
      troubleOf({ name: 'mails', queueName: 'mails', updatedAt: '2026-01-01T00:00:00Z', state: 'running', ...changes } as WorkerView).map(
        ({ kind, text, tone }) => [tone, kind, text],
      )
    assert.deepEqual(found({}), [])
    assert.deepEqual(found({ state: 'FAILED', lastError: 'no such module\nin line 2', rollout }), [
      ['bad', 'worker', 'has failed and takes no jobs until it is restarted: no such module'],
    ])
    assert.deepEqual(found({ rollout }), [
      ['warn', 'version', 'version 2.0.0 cannot run on node b, so that the previous version goes on: no such module'],
    ])
    assert.deepEqual(found({ failedOn: ['b'], lastError: 'no such module' }), [
      ['bad', 'worker', 'has failed on 1 node (b) and runs on the others: no such module'],
    ])
  })

  it('includes a version that certainly fails more than 5 %, compared with the one with the most attempts', () => {
    const [found, ...others] = failingVersions([counted('1.0.0', 995, 5), counted('1.1.0', 270, 30), counted('0.9.0', 3, 0)])
    const beside = { version: '1.0.0', failed: 5, attempts: 1000 }
    assert.deepEqual(found, { worker: 'mails', version: '1.1.0', failed: 30, attempts: 300, beside })
    assert.deepEqual(others, [])
  })

  it('excludes a version that fails 1 of 10 attempts, 4 %, or only because of a job that is listed itself', () => {
    assert.deepEqual(failingVersions([counted('1.0.0', 9, 1)]), [])
    assert.deepEqual(failingVersions([counted('1.0.0', 960, 40)]), [])
    const explained = failingVersions([counted('1.0.0', 100, 50)], () => 49)
    assert.deepEqual(explained, [])
  })

  const job = (changes: Partial<JobDetails>) =>
    ({ id: '1', queue: 'mails', name: 'mail', status: 'waiting', attempts: 9, maxAttempts: 100, error: 'no', ...changes }) as JobDetails
  const page = (...jobs: readonly JobDetails[]): JobPage => ({
    jobs,
    pagination: { page: 1, limit: 20, total: jobs.length, totalPages: 1 },
  })
  const stats = { queues: { mails: { attempts: 10, failureRate: 1, active: 0, size: 1 } } } as unknown as QueueStats

  it('includes a job that fails repeatedly, also while it moves between lists, until it has ended', async () => {
    let [listed, held]: readonly [JobPage, JobDetails] = [page(job({}), job({ id: '2', attempts: 2 })), job({ attempts: 10 })]
    const jobs = new RetriedJobs(() => ({ jobs: async () => listed, job: async () => held }))
    const found = async () => (await jobs.find(stats)).jobs.map(({ attempts, id }) => [id, attempts])
    assert.deepEqual(await found(), [['1', 9]])
    listed = page()
    assert.deepEqual(await found(), [['1', 10]])
    held = job({ status: 'failed' })
    assert.deepEqual(await found(), [])
  })

  it('scans all failing queues in rotation, twenty per scan, and keeps findings until the next scan of their queue', async () => {
    const asked = new Set<string>()
    const jobs = new RetriedJobs(() => ({
      jobs: async (_list, { queue = '' } = {}) => {
        asked.add(queue)
        return queue === 'q34' ? page(job({ queue })) : page()
      },
      job: async () => job({ queue: 'q34' }),
    }))
    // The later ones fail less.
    const queues = Object.fromEntries(
      Array.from({ length: 35 }, (_, n) => [`q${n}`, { attempts: 100 - n, failureRate: 1, active: 1, size: 0 }]),
    )
    const look = async () => {
      asked.clear()
      const { jobs: found, of, queues: looked } = await jobs.find({ queues } as unknown as QueueStats)
      return [asked.size, looked, of, found.length]
    }
    assert.deepEqual(await look(), [20, 20, 35, 0])
    assert.deepEqual(await look(), [20, 30, 35, 0])
    assert.deepEqual(await look(), [20, 35, 35, 1])
    assert.deepEqual(await look(), [20, 35, 35, 1])
    for (const queue of ['q0', 'q9']) assert.ok(asked.has(queue), queue)
    const { q0 } = queues
    assert.deepEqual(await jobs.find({ queues: { q0 } } as unknown as QueueStats), { jobs: [], queues: 1, of: 1 })
  })

  it('reads no jobs of queues without failures', async () => {
    const refuse = () => Promise.reject(new Error('asked'))
    const jobs = new RetriedJobs(() => ({ jobs: refuse, job: refuse }))
    const quiet = { queues: { mails: { attempts: 10, failureRate: 0, active: 1, size: 1 } } } as unknown as QueueStats
    assert.deepEqual(await jobs.find(quiet), { jobs: [], queues: 0, of: 0 })
  })

  it('states which job blocks others, why it fails, and where to find it', () => {
    const entry = { waiting: 31, throughput: 0, oldestWaitingMs: 840_000 } as QueueStats['queues'][string]
    const item = retriedJob(job({ id: 'a/b', error: 'card declined\n    at x' }), entry)
    assert.deepEqual([item.tone, item.error, item.to], ['bad', 'card declined', '/queues/mails/jobs/a%2Fb'])
    assert.equal(
      item.text.replaceAll('\u00a0', ' '),
      'job a/b (mail) has failed 9 of 100 attempts and is being retried, while 30 jobs wait, the oldest for 14 min',
    )
  })

  it('limits the total time of a scan, and names what could not be read in time', async () => {
    const never = () => new Promise<never>(() => undefined)
    const asked: string[] = []
    const stats = () => {
      asked.push('stats')
      return never()
    }
    const attention = new AttentionService({
      monitor: () => ({ stats }) as unknown as QueueMonitor,
      workers: () => ({ enabled: true, list: never, nodes: never }) as unknown as Workers,
      canaries: () => undefined,
      breaker: () => undefined,
      clock: () => ({ problem: { text: 'the clock of this node is 300 s ahead', isWrong: true } }),
      now: () => 0,
      waitMs: 1,
    })
    const { items, unknown } = await attention.look()
    assert.deepEqual(unknown, ['workers', 'nodes', 'retried jobs'])
    assert.deepEqual(items, [{ tone: 'bad', kind: 'clock', subject: 'clock', text: 'the clock of this node is 300 s ahead', to: '/nodes' }])
    assert.deepEqual(asked, [])
  })
})
