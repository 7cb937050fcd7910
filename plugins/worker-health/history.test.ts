import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { localCluster, MemoryHub } from 'zin/plugins/cluster'
import type { HealthReport, LocalWorker, WorkerPage } from 'zin/plugins/workers'
import { fakeClock, memoryLogger } from 'zin/testing'
import { History } from './history.js'
import { type CheckOutcome, type NodeCheck, sampleOf } from './outcome.js'
import { memoryHistory } from './store/memory.js'

const check = (node: string, at: number, error?: string): NodeCheck => ({
  node,
  at,
  healthy: error === undefined,
  durationMs: at / 10,
  ...(error === undefined ? {} : { error }),
})

describe('a sample of the history', () => {
  it('has the newest check when all succeed', () => {
    const sample = { worker: 'mailer', node: 'b', at: 20, healthy: true, score: 100, durationMs: 2, error: null }
    assert.deepEqual(sampleOf('mailer', 100, [check('a', 10), check('b', 20)]), sample)
  })

  it('has the newest failing check when one fails', () => {
    const sample = { worker: 'mailer', node: 'b', at: 40, healthy: false, score: 70, durationMs: 3, error: 'no disk' }
    assert.deepEqual(sampleOf('mailer', 70, [check('a', 20, 'old'), check('b', 30, 'no disk'), check('c', 40)]), sample)
  })

  it('needs a check', () => assert.equal(sampleOf('mailer', 100, []), undefined))
})

/** Two nodes with one history. `checks`: the last checks of each worker on all nodes. */
const setUp = async () => {
  const clock = fakeClock()
  const hub = new MemoryHub()
  const log = memoryLogger()
  const store = { ...memoryHistory(), shared: true }
  const checks = new Map<string, readonly NodeCheck[]>()
  const asked: string[] = []
  const node = async (id: string, running: readonly string[]) => {
    const cluster = localCluster({ node: { id }, clock, log, hub })
    await cluster.open()
    const history = new History({
      store,
      cluster,
      clock,
      log,
      intervalMs: 1000,
      keepMs: 3_600_000,
      workers: () => ({
        get: () => assert.fail('not read here'),
        health: async (name) => {
          asked.push(name)
          return { score: 100, terms: [], monitored: true, checks: checks.get(name) ?? [] } as unknown as HealthReport
        },
        list: async () =>
          ({
            workers: [...checks.keys()].map((name) => ({ name, monitored: name !== 'unmonitored', state: 'running' })),
            pagination: { totalPages: 1 },
          }) as unknown as WorkerPage,
        local: {
          node: id,
          list: () => running.map((name) => ({ name, monitored: true, state: 'running' }) as LocalWorker),
          fail: async () => undefined,
          reportCheck: () => undefined,
        },
      }),
    })
    history.open()
    // The role is acquired when its reply has arrived.
    await new Promise((resolve) => setImmediate(resolve))
    return { cluster, history }
  }
  const rows = async (worker: string) => (await store.read(worker, 0, 100)).map((sample) => [sample.node, sample.at])
  return { asked, checks, clock, node, rows, store }
}
const outcome = (at: number): CheckOutcome => ({ healthy: true, failures: 0, counts: true, durationMs: 1, at })

describe('the history of several nodes', () => {
  it('has one sample for the checks of all nodes, written by the leader; another one continues', async () => {
    const { asked, clock, node, rows } = await setUp()
    const [a, b] = [await node('a', ['mailer']), await node('b', ['mailer'])]
    const now = clock.now()
    await b.history.add('mailer', outcome(now))
    assert.deepEqual([await rows('mailer'), asked], [[], []])
    await a.history.add('mailer', outcome(now + 1))
    assert.deepEqual(await rows('mailer'), [['a', now + 1]])
    await a.history.close()
    await new Promise((resolve) => setImmediate(resolve))
    await b.history.add('mailer', outcome(now + 2))
    await a.history.add('mailer', outcome(now + 3))
    assert.deepEqual(await rows('mailer'), [
      ['b', now + 2],
      ['a', now + 1],
    ])
    await Promise.all([a.cluster.close(), b.cluster.close()])
  })

  it('has the workers that the leader does not run, each check once', async () => {
    const { asked, checks, clock, node, rows } = await setUp()
    const [a, b] = [await node('a', ['here']), await node('b', ['there'])]
    const now = clock.now()
    for (const name of ['here', 'there', 'unmonitored']) checks.set(name, [check('b', now)])
    for (const history of [a.history, b.history, a.history]) await history.collect()
    assert.deepEqual([await rows('here'), await rows('there'), await rows('unmonitored')], [[], [['b', now]], []])
    assert.deepEqual(asked, ['there', 'there'])
    checks.set('there', [check('b', now + 1000)])
    await a.history.collect()
    assert.deepEqual(await rows('there'), [
      ['b', now + 1000],
      ['b', now],
    ])
    await Promise.all([a.cluster.close(), b.cluster.close()])
  })

  it('has no sample of a check that ended before the last two intervals', async () => {
    const { checks, clock, node, rows } = await setUp()
    const { cluster, history } = await node('a', [])
    checks.set('there', [check('b', clock.now())])
    clock.advance(2000)
    await history.collect()
    assert.deepEqual(await rows('there'), [])
    await cluster.close()
  })

  it('forgets the newest checks of workers once they are two intervals old, and records nothing twice', async () => {
    const { checks, clock, node, rows } = await setUp()
    const { cluster, history } = await node('a', [])
    const now = clock.now()
    checks.set('there', [check('b', now + 1000)])
    clock.advance(1000)
    await history.collect()
    await history.prune()
    assert.equal(history.remembered, 1)
    clock.advance(1000)
    await history.prune()
    assert.equal(history.remembered, 1)
    await history.collect()
    clock.advance(1000)
    await history.prune()
    assert.equal(history.remembered, 0)
    await history.collect()
    assert.deepEqual(await rows('there'), [['b', now + 1000]])
    await cluster.close()
  })
})
