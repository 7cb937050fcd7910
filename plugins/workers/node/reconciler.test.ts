import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Logger } from 'zin'
import { MemoryHub } from 'zin/plugins/cluster'
import { fakeClock } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { GivenCode } from '../control/given-code.js'
import { ProcessorRegistry } from '../processors/registry.js'
import { placementOf } from '../shared/placement.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import { memoryStore } from '../store/memory.js'
import { StoreRegistry } from '../store/registry.js'
import { localState, nodeStatus, overriding } from '../testing/helpers.js'
import { desired, stored } from '../testing/stored-worker.js'
import { Claims } from './claims.js'
import { Reconciler } from './reconciler.js'
import type { WorkerNode } from './worker-node.js'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger

/** A node with a fake clock; `apply` replaces the steps for a worker. */
const setUp = async (
  apply: (worker: StoredWorker) => Promise<void>,
  { hub = new MemoryHub(), notAssigned = (): void => undefined, recount = async (): Promise<boolean> => true } = {},
) => {
  const clock = fakeClock()
  const { cluster, shared } = localState({ clock, hub })
  await shared.describe({ region: 'us-east-1', consumes: true })
  await cluster.open()
  const store = memoryStore()
  const nothing = (): void => undefined
  const state = { all: 0, read: [] as string[], down: false, audits: false, duringAll: nothing, missed: nothing }
  const watched = {
    ...store,
    all: () => {
      state.all++
      state.duringAll()
      return state.down ? Promise.reject(new Error('away')) : store.all()
    },
    get: (name: string) => {
      state.read.push(name)
      return store.get(name)
    },
  }
  const local = { version: undefined, status: () => undefined, suspendAtBoot: () => undefined, apply }
  const node = {
    id: 'here',
    find: () => local,
    localWorker: () => local,
    dropEarlier: notAssigned,
    restore: async () => undefined,
    forget: async () => undefined,
    drained: () => [],
    recount,
  }
  const registry = new ProcessorRegistry()
  const code = new GivenCode(registry)
  const reconciler = new Reconciler({
    storeRegistry: new StoreRegistry([watched], () => watched),
    shared: overriding<SharedState>(shared, {
      onMissed(listener) {
        state.missed = listener
        return () => undefined
      },
    }),
    node: node as unknown as WorkerNode,
    audits: () => state.audits,
    code,
    rule: { global: false, driver: 'memory' },
    applyAutoStart: async (worker) => worker,
    takeStart: async (worker) => worker,
    claims: new Claims(undefined, () => undefined),
    log: quiet,
    now: () => clock.now(),
    emit: () => undefined,
  })
  return { clock, cluster, code, registry, shared, store, state, reconciler }
}

describe('a node', () => {
  it('keeps polling while a worker takes long to stop', async () => {
    let release: () => void = () => undefined
    const stopping = new Promise<void>((resolve) => {
      release = resolve
    })
    const { shared, store, reconciler } = await setUp(() => stopping)
    await store.insert(stored('slow'))
    await reconciler.join()
    reconciler.boot()
    for (let polls = 0; polls < 5; polls++) {
      await shared.publishChange('slow')
      await reconciler.poll()
    }
    release()
    await reconciler.close()
  })

  it('applies nothing until it could read the stores at boot, which a later poll retries', async () => {
    const applied: string[] = []
    const { shared, store, state, reconciler } = await setUp(async (worker) => void applied.push(worker.record.name))
    await store.insert(stored('one'))
    state.down = true
    await reconciler.join()
    reconciler.boot()
    await shared.publishChange('one')
    await reconciler.poll()
    assert.deepEqual(applied, [])
    state.down = false
    await reconciler.poll()
    await reconciler.poll()
    while (applied.length === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(applied[0], 'one')
    await reconciler.close()
  })

  it('starts a worker that it reads while it creates it only once its functions are kept', async () => {
    const applied: string[] = []
    const { code, shared, store, reconciler } = await setUp(async (worker) => void applied.push(worker.record.name))
    const [made, other] = [stored('made'), stored('other')]
    await code.during(made.id, async () => {
      await Promise.all([store.insert(made), store.insert(other)])
      await reconciler.join()
      reconciler.boot()
      await shared.publishChange('made')
      while (!applied.includes('other')) await new Promise((resolve) => setImmediate(resolve))
      for (let polls = 0; polls < 3; polls++) await reconciler.poll()
      assert.ok(!applied.includes('made'))
    })
    await shared.publishChange('made')
    while (!applied.includes('made')) await new Promise((resolve) => setImmediate(resolve))
    await reconciler.close()
  })

  it('reads each changed worker once, and nothing if nothing changed', async () => {
    const applied: string[] = []
    const { shared, store, state, reconciler } = await setUp(async (worker) => void applied.push(worker.record.name))
    const [one, two] = [stored('one'), stored('two')]
    await Promise.all([store.insert(one), store.insert(two)])
    await reconciler.join()
    reconciler.boot()
    while (applied.length < 2) await new Promise((resolve) => setImmediate(resolve))
    state.all = 0
    for (let polls = 0; polls < 30; polls++) await reconciler.poll()
    assert.deepEqual([state.all, state.read], [0, []])

    await shared.publishChange('one')
    while (state.read.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    for (let polls = 0; polls < 3; polls++) await reconciler.poll()
    assert.deepEqual([state.all, state.read], [0, ['one']])
    await reconciler.close()
  })

  it('reads everything after missed messages, and again if more were missed during that', async () => {
    const applied: string[] = []
    const { store, state, reconciler } = await setUp(async (worker) => void applied.push(worker.record.name))
    await store.insert(stored('one'))
    await reconciler.join()
    reconciler.boot()
    while (applied.length === 0) await new Promise((resolve) => setImmediate(resolve))
    state.all = 0
    state.duringAll = () => {
      state.duringAll = () => undefined
      state.missed()
    }
    state.missed()
    await reconciler.poll()
    assert.equal(state.all, 1)
    for (let polls = 0; polls < 3; polls++) await reconciler.poll()
    assert.equal(state.all, 2)
    await reconciler.close()
  })

  it('forgets the functions of a worker that another node removed, but no registered ones', async () => {
    const { code, registry, shared, store, state, reconciler } = await setUp(async () => undefined)
    const [one, two, registered] = [stored('one'), stored('two'), stored('registered')]
    const give = async (worker: StoredWorker) => {
      const { name } = worker.record
      await store.insert(worker)
      code.keep(worker, name, { processor: () => 'given', healthCheck: () => ({ healthy: true }) })
      code.keep(worker, `${name}@2.0.0`, { processor: () => 'given with a version' })
    }
    const found = async (name: string) => [
      await registry.find(name, '1.0.0'),
      await registry.find(name, '2.0.0'),
      registry.healthCheck(name, '1.0.0'),
    ]
    const none = [undefined, undefined, undefined]
    const processor = () => 'registered'
    registry.register('registered', processor)
    await Promise.all([give(one), give(two), store.insert(registered)])
    await reconciler.join()
    reconciler.boot()
    await reconciler.poll()
    assert.ok((await found('one')).every((item) => item !== undefined))

    await store.remove(one)
    await store.remove(registered)
    for (const name of ['one', 'registered']) await shared.publishChange(name)
    await reconciler.poll()
    assert.deepEqual(await found('one'), none)
    assert.equal(await registry.find('registered', '1.0.0'), processor)

    // Without a message about it.
    await store.remove(two)
    state.missed()
    await reconciler.poll()
    assert.deepEqual(await found('two'), none)
    await reconciler.close()
  })

  it('forgets the functions of a worker that another node created again, and keeps those of one that this node created again', async () => {
    const { code, registry, shared, store, reconciler } = await setUp(async () => undefined)
    const processor = () => 'the same'
    const [before, again] = [stored('there'), stored('there')]
    const [earlier, later] = [stored('here'), stored('here')]
    await Promise.all([store.insert(before), store.insert(earlier)])
    for (const worker of [before, earlier]) code.keep(worker, worker.record.name, { processor })
    await reconciler.join()
    reconciler.boot()
    await reconciler.poll()
    for (const [removed, added] of [
      [before, again],
      [earlier, later],
    ] as const) {
      await store.remove(removed)
      await store.insert(added)
    }
    code.keep(later, 'here', { processor })
    for (const name of ['there', 'here']) await shared.publishChange(name)
    await reconciler.poll()
    assert.equal(await registry.find('there', '1.0.0'), undefined)
    assert.equal(await registry.find('here', '1.0.0'), processor)
    await reconciler.close()
  })

  it('does not publish a drain that is undone before its jobs are counted', async () => {
    let count: (stored: boolean) => void = () => undefined
    let asked = false
    const recount = (): Promise<boolean> => {
      asked = true
      return new Promise((resolve) => {
        count = resolve
      })
    }
    const { cluster, shared, reconciler } = await setUp(async () => undefined, { recount })
    await reconciler.join()
    reconciler.boot()
    await shared.send({ kind: 'drain', node: cluster.node.id, draining: true })
    await eventually('it is counted', () => asked)
    await shared.send({ kind: 'drain', node: cluster.node.id, draining: false })
    await eventually('it is undone', () => !shared.draining)
    count(true)
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    reconciler.drain()
    assert.deepEqual([shared.draining, (await shared.nodes())[0]?.draining], [false, false])
    await reconciler.close()
    await cluster.close()
  })

  it('publishes that it drains once its workers take no jobs and the number of running ones is stored, which is repeated', async () => {
    const steps: string[] = []
    let stores = false
    const recount = async () => {
      steps.push(stores ? 'counted' : 'not counted')
      return stores
    }
    const notAssigned = () => void steps.push('held')
    const { cluster, shared, store, reconciler } = await setUp(async () => void steps.push('applied'), { notAssigned, recount })
    await store.insert(stored('one'))
    await reconciler.join()
    reconciler.boot()
    await eventually('it runs', () => steps.length === 1)
    const published = async () => (await shared.nodes())[0]?.draining
    await shared.send({ kind: 'drain', node: cluster.node.id, draining: true })
    await eventually('it is counted', () => steps.length === 3)
    assert.deepEqual([steps, shared.draining, await published()], [['applied', 'held', 'not counted'], true, false])
    stores = true
    reconciler.drain()
    await eventually('it is published', async () => (await published()) === true)
    assert.deepEqual(steps.slice(3, 5), ['held', 'counted'])

    await shared.send({ kind: 'drain', node: cluster.node.id, draining: false })
    await eventually('it is undone', async () => (await published()) === false)
    await reconciler.close()
    await cluster.close()
  })

  it('forgets that a node failed some time after that node left the cluster', async () => {
    const hub = new MemoryHub()
    const decided: string[] = []
    const { clock, cluster, shared, store, reconciler } = await setUp(async () => void decided.push('assigned'), {
      hub,
      notAssigned: () => void decided.push('not assigned'),
    })
    const becomes = (last: string) => eventually(last, () => decided.at(-1) === last)
    const joins = async () => {
      const other = localState({ clock, node: 'other', hub })
      await other.shared.describe({ region: 'us-east-1', consumes: true })
      await other.cluster.open()
      return other
    }
    const nodes = ['here', 'other'].map((id) => ({ id, alive: true, region: 'us-east-1', consumes: true, draining: false }))
    const name = Array.from({ length: 20 }, (_, index) => `worker-${index}`).find(
      (one) => placementOf({ nodes: 1 }, one, nodes)[0] === 'other',
    )
    const running = { desired: desired({ state: 'running' }) }
    const worker = stored(name ?? assert.fail('all are placed here'), running, { placement: { nodes: 1 } })
    await store.insert(worker)
    await reconciler.join()
    reconciler.boot()
    await becomes('assigned')

    const other = await joins()
    await becomes('not assigned')
    const error = { code: 'X', message: 'broken', status: 500 }
    await other.shared.report([nodeStatus(worker.record.name, { workerId: worker.id, state: 'FAILED', error })])
    await becomes('assigned')
    await other.cluster.close()
    await eventually('the other node has left', () => shared.known().length === 1)
    for (let polls = 0; polls < 24; polls++) await reconciler.poll()
    const again = await joins()
    await becomes('not assigned')
    await reconciler.close()
    await Promise.all([cluster.close(), again.cluster.close()])
  })

  it('publishes changes that were never published, when it audits', async () => {
    const { shared, store, state, reconciler } = await setUp(async () => undefined)
    await reconciler.join()
    reconciler.boot()
    await reconciler.poll()
    const { revision } = await shared.news(-1)
    await store.insert(stored('unheard'))
    for (let polls = 0; polls < 12; polls++) await reconciler.poll()
    assert.equal((await shared.news(revision)).revision, revision)
    state.audits = true
    for (let polls = 0; polls < 12; polls++) await reconciler.poll()
    assert.deepEqual((await shared.news(revision)).changed, new Map([['unheard', revision + 1]]))
    await reconciler.close()
  })
})
