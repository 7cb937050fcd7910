import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { localCluster, MemoryHub } from 'zin/plugins/cluster'
import { fakeClock, memoryLogger } from 'zin/testing'
import type { Decision, NewDecision } from './contract.js'
import { DecisionLog } from './service.js'
import type { DecisionStore } from './store/contract.js'
import { memoryStore } from './store/memory.js'

const opened: NewDecision = {
  kind: 'breaker',
  subject: 'worker:email-sender',
  verdict: 'open',
  acted: true,
  reason: 'Opened for 30 s: 7 of 10 attempts failed within 60 s',
  inputs: { attempts: 10, failed: 7 },
  rule: 'breaker/failure-ratio',
}

async function openLog({ store = memoryStore(), hub = new MemoryHub() }: { store?: DecisionStore; hub?: MemoryHub } = {}) {
  const clock = fakeClock()
  const log = memoryLogger()
  const cluster = localCluster({ node: { id: `node-${Math.random()}` }, clock, log, hub })
  await cluster.open()
  const decisions = new DecisionLog({ store, cluster, clock, log, keepMs: 30 * 86_400_000, most: 1000 })
  decisions.open()
  return { clock, cluster, decisions, log, close: () => decisions.close().then(() => cluster.close()) }
}

/** A store that fails until `mend` is called. */
function brokenStore(): DecisionStore & { mend(): void } {
  const store = memoryStore()
  let broken = true
  return {
    ...store,
    add: (some) => (broken ? Promise.reject(new Error('the disk is gone')) : store.add(some)),
    mend: () => {
      broken = false
    },
  }
}

describe('decisions', () => {
  it('are listed while the store accepts no new ones', async () => {
    const store = memoryStore()
    const { decisions, cluster } = await openLog({ store: { ...store, add: () => new Promise<never>(() => undefined) } })
    await store.add([{ ...opened, id: 'stored', at: '2026-01-01T00:00:00.000Z', actor: { kind: 'plugin', id: 'breaker', via: 'plugin' } }])
    decisions.record(opened)
    assert.deepEqual(
      (await decisions.list({})).decisions.map(({ id }) => id),
      ['stored'],
    )
    await cluster.close()
  })

  it('are recorded immediately, with an id, a time and the plugin as the actor, and listed newest first', async () => {
    const { clock, close, decisions } = await openLog()
    const first = decisions.record(opened)
    assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(Number.parseInt(first.id.replaceAll('-', '').slice(0, 12), 16), clock.now())
    assert.deepEqual(first, {
      ...opened,
      id: first.id,
      at: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'plugin', id: 'breaker', via: 'plugin' },
    })
    const second = decisions.record({ ...opened, verdict: 'half-open' })
    clock.advance(-1000)
    const third = decisions.record({ ...opened, subject: 'worker:other', kind: 'scale' })
    assert.deepEqual([first.id, second.id, third.id].sort(), [first.id, second.id, third.id])
    const ids = async (filter: Parameters<typeof decisions.list>[0]) => (await decisions.list(filter)).decisions.map(({ id }) => id)
    assert.deepEqual(await ids({}), [second.id, first.id, third.id])
    assert.deepEqual(await ids({ subject: 'worker:other' }), [third.id])
    assert.deepEqual(await ids({ kind: 'breaker' }), [second.id, first.id])
    assert.deepEqual(await ids({ since: Date.parse(first.at) }), [second.id, first.id])
    const { pagination } = await decisions.list({ page: 2, limit: 2 })
    assert.deepEqual(pagination, { page: 2, limit: 2, total: 3, totalPages: 2 })
    await close()
  })

  it('are published once in every process, and not to removed listeners', async () => {
    const hub = new MemoryHub()
    const one = await openLog({ hub })
    const other = await openLog({ hub })
    const heard: (readonly [string, Decision])[] = []
    const both = Promise.all(
      [one, other].map(
        ({ decisions }, index) =>
          new Promise<void>((resolve) => {
            decisions.follow((decision) => {
              heard.push([`process ${index}`, decision])
              resolve()
            })
          }),
      ),
    )
    one.decisions.follow(() => {
      throw new Error('on purpose')
    })
    other.decisions.follow(() => assert.fail('it was removed'))()
    const decision = one.decisions.record(opened)
    await both
    assert.deepEqual(heard, [
      ['process 0', decision],
      ['process 1', decision],
    ])
    await one.close()
    await other.close()
  })

  it('are buffered in order while the store is down, the oldest are kept, and each dropped one is logged', async () => {
    const store = brokenStore()
    const { close, decisions, log } = await openLog({ store })
    const kept = Array.from({ length: 1000 }, (_, index) => decisions.record({ ...opened, reason: `Number ${index}` }))
    await decisions.flush()
    decisions.record({ ...opened, reason: 'Number 1000' })
    const lines = () => log.lines.map(({ level, msg }) => [level, msg])
    assert.deepEqual(lines(), [
      ['warn', 'decisions cannot be stored and are buffered in memory: the disk is gone'],
      ['error', 'a decision about worker:email-sender was not stored because the store is down and the buffer is full: Number 1000'],
    ])
    store.mend()
    const { decisions: newest, pagination } = await decisions.list()
    assert.deepEqual(newest, kept.slice(900).reverse())
    assert.equal(pagination.total, 1000)
    assert.deepEqual(lines()[2], ['info', 'decisions can be stored again'])
    await close()
  })

  it('are logged when the process ends while the store is down', async () => {
    const { close, decisions, log } = await openLog({ store: brokenStore() })
    decisions.record(opened)
    await close()
    decisions.record(opened)
    const errors = log.lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)
    assert.deepEqual(errors, [
      `a decision about worker:email-sender was not stored because the app is stopping and the store is down: ${opened.reason}`,
      `a decision about worker:email-sender was not stored because the app is stopping: ${opened.reason}`,
    ])
  })

  it('are copied, so that later changes by the plugin have no effect', async () => {
    const { close, decisions } = await openLog()
    const inputs = { failed: 7 }
    decisions.record({ ...opened, inputs })
    inputs.failed = 8
    assert.deepEqual((await decisions.list()).decisions[0]?.inputs, { failed: 7 })
    await close()
  })
})
