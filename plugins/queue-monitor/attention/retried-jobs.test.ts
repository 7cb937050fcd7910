import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JobDetails, JobPage, QueueStats } from '../contract.js'
import { retriedFact } from './queue-facts.js'
import { RetriedJobs } from './retried-jobs.js'

describe('jobs that fail repeatedly', () => {
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

  it('finds a job that moves while its queue is scanned for the first time, as after a restart', async () => {
    for (const moves of [
      ['waiting', 'active', 'delayed', 'delayed'],
      ['active', 'active', 'delayed', 'delayed'],
      ['waiting', 'waiting', 'active', 'delayed'],
      ['delayed', 'waiting', 'active', 'delayed'],
    ]) {
      let step = 0
      const jobs = new RetriedJobs(() => ({
        jobs: async (list) => (moves[step++] === list ? page(job({})) : page()),
        job: async () => job({}),
      }))
      assert.deepEqual(
        (await jobs.find(stats)).jobs.map(({ id }) => id),
        ['1'],
        moves.join(' '),
      )
    }
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

  it('states which job blocks others and where to find it, and nothing of its error', () => {
    const entry = { waiting: 31, throughput: 0, oldestWaitingMs: 840_000 } as QueueStats['queues'][string]
    const fact = retriedFact(job({ id: 'a/b', error: 'card declined\n    at x', createdAt: '2026-01-01T00:00:00Z' }), entry)
    assert.deepEqual([fact.severity, fact.act.href], ['bad', '/console/queues/mails/jobs/a%2Fb'])
    assert.doesNotMatch(JSON.stringify(fact), /card declined/)
    assert.equal(fact.cause, 'job a/b (mail) has failed 9 of 100 attempts and is being retried, while 30 jobs wait, the oldest for 14 min')
  })
})
