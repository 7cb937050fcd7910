import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Logger } from 'zin'
import { fakeClock } from 'zin/testing'
import type { NodeInfo } from '../cluster/cluster.js'
import { memoryCluster } from '../cluster/memory.js'
import { StoreDirectory } from '../store/directory.js'
import { memoryStore } from '../store/memory.js'
import type { StoredWorker } from '../store/store.js'
import { stored } from '../testing/stored-worker.js'
import { Reconciler } from './reconciler.js'
import type { WorkerNode } from './worker-node.js'

const info: NodeInfo = { id: 'here', host: 'host', pid: 1, region: 'us-east-1', consumes: true, startedAt: 0 }
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger

/** A process on a clock that only moves by hand; `apply` stands for what it does for a worker. */
const setUp = (apply: (worker: StoredWorker) => Promise<void>) => {
  const clock = fakeClock()
  const cluster = memoryCluster({ clock })
  const store = memoryStore()
  const state = { reads: 0, down: false }
  const watched = {
    ...store,
    all: () => {
      state.reads++
      return state.down ? Promise.reject(new Error('away')) : store.all()
    },
  }
  const node = { id: info.id, slot: () => ({ version: undefined, apply }), reportAll: async () => undefined, forget: async () => undefined }
  const reconciler = new Reconciler({
    info,
    directory: new StoreDirectory([watched], () => watched),
    cluster,
    node: node as unknown as WorkerNode,
    rule: { global: false, driver: 'memory' },
    wake: async (worker) => worker,
    log: quiet,
    now: () => clock.now(),
    leaseMs: 3000,
    emit: () => undefined,
  })
  return { clock, cluster, store, state, reconciler }
}

describe('a process', () => {
  it('keeps its lease while a worker takes long to stop', async () => {
    let release: () => void = () => undefined
    const stopping = new Promise<void>((resolve) => {
      release = resolve
    })
    const { clock, cluster, store, reconciler } = setUp(() => stopping)
    await store.insert(stored('slow'))
    await reconciler.join()
    reconciler.boot()
    await reconciler.beat()
    for (let beats = 0; beats < 5; beats++) {
      await cluster.announce('slow')
      clock.advance(1000)
      await reconciler.beat()
    }
    const [here] = await cluster.nodes()
    assert.deepEqual([here?.alive, here?.leaseMs], [true, 3000])
    release()
    await reconciler.close()
  })

  it('applies nothing before its boot could read the stores, and boots with a later beat', async () => {
    const applied: string[] = []
    const { cluster, store, state, reconciler } = setUp(async (worker) => void applied.push(worker.record.name))
    await store.insert(stored('one'))
    state.down = true
    await reconciler.join()
    reconciler.boot()
    await cluster.announce('one')
    await reconciler.beat()
    assert.deepEqual(applied, [])
    state.down = false
    await reconciler.beat()
    await reconciler.beat()
    while (applied.length === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(applied[0], 'one')
    await reconciler.close()
  })
})
