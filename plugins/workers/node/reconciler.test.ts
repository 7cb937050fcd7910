import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Logger } from 'zin'
import { fakeClock } from 'zin/testing'
import type { StoredWorker } from '../store/contract.js'
import { memoryStore } from '../store/memory.js'
import { StoreRegistry } from '../store/registry.js'
import { localState } from '../testing/helpers.js'
import { stored } from '../testing/stored-worker.js'
import { Reconciler } from './reconciler.js'
import type { WorkerNode } from './worker-node.js'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger

/** A process on a clock that only moves by hand; `apply` stands for what it does for a worker. */
const setUp = async (apply: (worker: StoredWorker) => Promise<void>) => {
  const clock = fakeClock()
  const { cluster, shared } = localState({ clock })
  await shared.describe({ region: 'us-east-1', consumes: true })
  await cluster.open()
  const store = memoryStore()
  const state = { all: 0, read: [] as string[], down: false, audits: false }
  const watched = {
    ...store,
    all: () => {
      state.all++
      return state.down ? Promise.reject(new Error('away')) : store.all()
    },
    get: (name: string) => {
      state.read.push(name)
      return store.get(name)
    },
  }
  const local = { version: undefined, status: () => undefined, suspendAtBoot: () => undefined, apply }
  const node = { id: 'here', find: () => local, localWorker: () => local, restore: async () => undefined, forget: async () => undefined }
  const reconciler = new Reconciler({
    storeRegistry: new StoreRegistry([watched], () => watched),
    shared,
    node: node as unknown as WorkerNode,
    audits: () => state.audits,
    rule: { global: false, driver: 'memory' },
    applyAutoStart: async (worker) => worker,
    log: quiet,
    now: () => clock.now(),
    emit: () => undefined,
  })
  return { clock, cluster, shared, store, state, reconciler }
}

describe('a process', () => {
  it('polls on while a worker takes long to stop', async () => {
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

  it('applies nothing before its boot could read the stores, and boots with a later poll', async () => {
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

  it('reads what changed since its last poll, once, and nothing when nothing did', async () => {
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

  it('tells the others of changes that nobody told of, when it audits', async () => {
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
