import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { it } from 'node:test'
import { systemClock } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { fakeClock } from 'zin/testing'
import type { NodeInfo } from '../cluster/cluster.js'
import { memoryCluster } from '../cluster/memory.js'
import { placementOf } from '../cluster/placement.js'
import { reportedOn } from '../cluster/reported.js'
import type { HookSlots } from '../hook-slots.js'
import type { Processors } from '../processors/processors.js'
import { StoreDirectory } from '../store/directory.js'
import { memoryStore } from '../store/memory.js'
import { eventually, silentLog } from '../testing/helpers.js'
import { desired, stored } from '../testing/stored-worker.js'
import { goalOf } from './goal.js'
import { JobMiddlewares } from './job-middleware.js'
import { Reconciler } from './reconciler.js'
import { WorkerNode } from './worker-node.js'

const nodeOf = (id: string): NodeInfo => ({ id, host: 'host', pid: 1, region: 'us-east-1', consumes: true, startedAt: 0 })

/** A queue in which nothing ever happens. */
const queues = {
  worker: () =>
    Object.assign(new EventEmitter(), {
      waitUntilReady: async () => undefined,
      isPaused: () => false,
      run: async () => undefined,
      pause: async () => undefined,
      close: async () => undefined,
    }),
} as unknown as Queues

const processors = {
  loadHealthCheck: async () => undefined,
  load: async () => ({ run: () => undefined, resize: () => undefined, close: async () => undefined }),
} as unknown as Processors

it('a worker that was created again begins with its own version, also where nobody heard that the one before was removed', async () => {
  const cluster = memoryCluster({ clock: systemClock })
  const store = memoryStore()
  const parts = { cluster, clock: systemClock, log: silentLog }
  const node = new WorkerNode({
    ...parts,
    id: 'here',
    queues,
    processors,
    hooks: new Proxy({}, { get: () => ({ active: false }) }) as HookSlots,
    connectionTimeout: 1_000,
    jobLockMs: 1_000,
    maxStalls: 3,
    middlewares: new JobMiddlewares(() => 0),
    stopLimits: { drainMs: 1_000, cancelMs: 1_000 },
    halt: async () => undefined,
  })
  const info = nodeOf('here')
  const reconciler = new Reconciler({
    ...parts,
    info,
    directory: new StoreDirectory([store], () => store),
    node,
    rule: { global: true, driver: 'memory' },
    wake: async (worker) => worker,
    now: () => systemClock.now(),
    leaseMs: 60_000,
    emit: () => undefined,
  })
  // Of the two processes, this one takes a version second.
  const others = Array.from({ length: 20 }, (_, index) => ({ ...nodeOf(`other-${index}`), alive: true, leaseUntil: 0, leaseMs: 0 }))
  const here = { ...info, alive: true, leaseUntil: 0, leaseMs: 0 }
  const other = others.find((one) => placementOf({ nodes: 'all' }, 'again', [here, one])[0] === one.id)
  await cluster.beat(other ?? assert.fail('none is ahead'), 60_000)
  const runs = (id: string, version: string) =>
    eventually(`${version} runs`, async () =>
      (await reportedOn(cluster, 'again')).some((one) => one.workerId === id && one.version === version && one.state === 'running'),
    )

  const removed = stored('again', { desired: desired({ state: 'running' }) })
  await store.insert(removed)
  await reconciler.join()
  reconciler.boot()
  await runs(removed.id, '1.0.0')
  await store.remove(removed)
  const again = stored('again', { desired: desired({ state: 'running', version: '1.0.1' }) })
  await store.insert(again)
  await cluster.announce('again')
  await runs(again.id, '1.0.1')
  await Promise.all([reconciler.close(), node.close({ drainMs: 0, cancelMs: 0 })])
  await reconciler.leave()
})

it('an attempt that was lost with its process counts for the version that ran there', async () => {
  const clock = fakeClock()
  const cluster = memoryCluster({ clock })
  const opened: EventEmitter[] = []
  const made = (): EventEmitter => {
    const worker = (queues as unknown as { worker(): EventEmitter }).worker()
    opened.push(worker)
    return worker
  }
  const node = new WorkerNode({
    cluster,
    clock,
    log: silentLog,
    id: 'here',
    queues: { worker: made, job: async () => undefined } as unknown as Queues,
    processors,
    hooks: new Proxy({}, { get: () => ({ active: false }) }) as HookSlots,
    connectionTimeout: 1_000,
    jobLockMs: 1_000,
    maxStalls: 3,
    middlewares: new JobMiddlewares(() => 0),
    stopLimits: { drainMs: 0, cancelMs: 0 },
    halt: async () => undefined,
  })
  const worker = stored('mail', { desired: desired({ state: 'running' }) })
  const slot = node.slot({ name: 'mail', id: worker.id })
  await slot.apply(worker, async () => ({ goal: goalOf(worker, { run: true, version: '1.0.0' }), placed: true }))
  const minutes = async () => {
    await node.flush()
    return (await cluster.minutes('mail', 0)).map(({ version, failed, lost }) => [version, failed, lost])
  }
  opened[0]?.emit('stalled', '7')
  await eventually('a lost attempt of 1.0.0', async () => (await minutes()).length === 1)
  assert.deepEqual(await minutes(), [['1.0.0', 1, 1]])

  await cluster.beat(nodeOf('died'), 1_000)
  await cluster.report('died', [{ ...(slot.status() ?? assert.fail('it runs')), version: '0.9.0' }])
  clock.advance(2_000)
  opened[0]?.emit('stalled', '8')
  await eventually('a lost attempt of 0.9.0', async () => (await minutes()).length === 2)
  assert.deepEqual((await minutes()).sort(), [
    ['0.9.0', 1, 1],
    ['1.0.0', 1, 1],
  ])
  await node.close({ drainMs: 0, cancelMs: 0 })
})
