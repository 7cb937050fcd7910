import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { it } from 'node:test'
import { systemClock } from 'zin'
import { MemoryHub } from 'zin/plugins/cluster'
import type { Queues } from 'zin/plugins/queues'
import { fakeClock } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { GivenCode } from '../control/given-code.js'
import type { HookSlots } from '../hook-slots.js'
import { processorErrors } from '../processors/errors.js'
import type { Processors } from '../processors/processors.js'
import { ProcessorRegistry } from '../processors/registry.js'
import { memoryState } from '../shared/memory.js'
import { placementOf } from '../shared/placement.js'
import { memoryStore } from '../store/memory.js'
import { StoreRegistry } from '../store/registry.js'
import { localState, silentLog } from '../testing/helpers.js'
import { desired, stored } from '../testing/stored-worker.js'
import type { Attempt } from './attempt.js'
import { Claims } from './claims.js'
import { desiredStateOf } from './desired-state.js'
import { JobMiddlewares } from './job-middleware.js'
import { Reconciler } from './reconciler.js'
import { VersionRoutes } from './version-routes.js'
import { WorkerNode } from './worker-node.js'

/** Queues without any jobs. */
const queues = {
  worker: () =>
    Object.assign(new EventEmitter(), {
      opts: {},
      waitUntilReady: async () => undefined,
      isPaused: () => false,
      isRunning: () => true,
      isRateLimited: () => false,
      concurrency: 1,
      run: async () => undefined,
      pause: async () => undefined,
      resume: async () => undefined,
      getBackend: () => ({}),
      nextJobFromJobData: async () => undefined,
      waiting: null,
      whenCurrentJobsFinished: async () => undefined,
      close: async () => undefined,
    }),
} as unknown as Queues

const processors = {
  loadHealthCheck: async () => undefined,
  load: async () => ({ run: () => undefined, resize: () => undefined, close: async () => undefined }),
} as unknown as Processors

/** What is the same for every node. */
const common = {
  processors,
  claims: new Claims(undefined, () => undefined),
  hooks: new Proxy({}, { get: () => ({ active: false }) }) as HookSlots,
  connectionTimeout: 1_000,
  jobLockMs: 1_000,
  maxStalls: 3,
  middlewares: new JobMiddlewares(() => 0),
  routes: new VersionRoutes(silentLog),
  halt: async () => undefined,
  tried: async () => undefined,
  decide: () => undefined,
  context: new AsyncLocalStorage<Attempt>(),
}

it('a worker that is created again starts with its own version, even on a node that missed the removal of the earlier one', async () => {
  const hub = new MemoryHub()
  const state = memoryState({ clock: systemClock })
  const { cluster, shared } = localState({ clock: systemClock, hub, store: state })
  await shared.describe({ region: 'us-east-1', consumes: true })
  await cluster.open()
  const store = memoryStore()
  const parts = { shared, clock: systemClock, log: silentLog }
  const node = new WorkerNode({
    ...parts,
    id: 'here',
    queues,
    ...common,
    stopLimits: { drainMs: 1_000, cancelMs: 1_000 },
  })
  const reconciler = new Reconciler({
    ...parts,
    storeRegistry: new StoreRegistry([store], () => store),
    node,
    rule: { global: true, driver: 'memory' },
    applyAutoStart: async (worker) => worker,
    takeStart: async (worker) => worker,
    claims: common.claims,
    now: () => systemClock.now(),
    audits: () => false,
    code: new GivenCode(new ProcessorRegistry()),
    emit: () => undefined,
  })
  // This node is the second of two in a rollout.
  const placed = (id: string) => ({ id, alive: true, region: 'us-east-1', consumes: true, draining: false })
  const ahead = Array.from({ length: 20 }, (_, index) => `other-${index}`).find(
    (id) => placementOf({ nodes: 'all' }, 'again', [placed('here'), placed(id)])[0] === id,
  )
  const other = localState({ clock: systemClock, node: ahead ?? assert.fail('none is ahead'), hub, store: state })
  await other.shared.describe({ region: 'us-east-1', consumes: true })
  await other.cluster.open()
  const runs = (id: string, version: string) =>
    eventually(`${version} runs`, async () =>
      (await shared.statusesOf('again')).some((one) => one.workerId === id && one.version === version && one.state === 'running'),
    )

  const removed = stored('again', { desired: desired({ state: 'running' }) })
  await store.insert(removed)
  await reconciler.join()
  reconciler.boot()
  await runs(removed.id, '1.0.0')
  await store.remove(removed)
  const again = stored('again', { desired: desired({ state: 'running', version: '1.0.1' }) })
  await store.insert(again)
  await shared.publishChange('again')
  await runs(again.id, '1.0.1')
  await Promise.all([reconciler.close(), node.close({ drainMs: 0, cancelMs: 0, reportMs: 2_000 })])
  await reconciler.deregister()
  await Promise.all([cluster.close(), other.cluster.close()])
})

it('an attempt lost with its node counts for the version that ran there', async () => {
  const clock = fakeClock()
  const hub = new MemoryHub()
  const store = memoryState({ clock })
  const { cluster, shared } = localState({ clock, hub, store })
  await cluster.open()
  const opened: EventEmitter[] = []
  const made = (): EventEmitter => {
    const worker = (queues as unknown as { worker(): EventEmitter }).worker()
    opened.push(worker)
    return worker
  }
  const node = new WorkerNode({
    shared,
    clock,
    log: silentLog,
    id: 'here',
    queues: { worker: made, job: async () => undefined } as unknown as Queues,
    ...common,
    stopLimits: { drainMs: 0, cancelMs: 0 },
  })
  const worker = stored('mail', { desired: desired({ state: 'running' }) })
  const local = node.localWorker({ name: 'mail', id: worker.id })
  const should = desiredStateOf(worker, { run: true, version: '1.0.0' })
  await local.apply(worker, async () => ({
    desired: should,
    assigned: true,
    stalledTurn: { index: 0, of: 1 },
    alone: false,
    drains: false,
  }))
  const minutes = async () => {
    await node.flush()
    return (await shared.counts([worker.id], { since: 0, byVersion: true })).map(({ version, failed, lost }) => [version, failed, lost])
  }
  opened[0]?.emit('stalled', '7')
  await eventually('a lost attempt of 1.0.0', async () => (await minutes()).length === 1)
  assert.deepEqual(await minutes(), [['1.0.0', 1, 1]])

  const died = localState({ clock, node: 'died', hub, store })
  await died.cluster.open()
  await died.shared.report([{ ...(local.status() ?? assert.fail('it runs')), version: '0.9.0' }])
  clock.advance(15_001)
  await cluster.heartbeat()
  opened[0]?.emit('stalled', '8')
  await eventually('a lost attempt of 0.9.0', async () => (await minutes()).length === 2)
  assert.deepEqual((await minutes()).sort(), [
    ['0.9.0', 1, 1],
    ['1.0.0', 1, 1],
  ])
  await node.close({ drainMs: 0, cancelMs: 0, reportMs: 2_000 })
  await Promise.all([cluster.close(), died.cluster.close()])
})

it('a worker that takes none of the jobs that wait gets a new consumer, and says so until it takes them or none waits', async () => {
  const clock = fakeClock()
  const { cluster, shared } = localState({ clock, hub: new MemoryHub(), store: memoryState({ clock }) })
  await cluster.open()
  let opened = 0
  let consumer: { nextJobFromJobData(data: undefined): Promise<unknown> } | undefined
  const made = (): unknown => {
    opened++
    consumer = (queues as unknown as { worker(): NonNullable<typeof consumer> }).worker()
    return consumer
  }
  let waiting = 0
  let asked = 0
  const sample = async (names: readonly string[]) => {
    asked++
    return new Map(names.map((name) => [name, { counts: { waiting }, paused: false }]))
  }
  const decisions: (readonly [string, string])[] = []
  const node = new WorkerNode({
    shared,
    clock,
    log: silentLog,
    id: 'here',
    queues: { worker: made, sample } as unknown as Queues,
    ...common,
    stopLimits: { drainMs: 0, cancelMs: 0 },
    decide: ({ verdict, reason }) => decisions.push([verdict, reason]),
  })
  const worker = stored('mail', { desired: desired({ state: 'running' }) })
  const local = node.localWorker({ name: 'mail', id: worker.id })
  const should = desiredStateOf(worker, { run: true, version: '1.0.0' })
  await local.apply(worker, async () => ({ desired: should, assigned: true, stalledTurn: undefined, alone: false, drains: false }))
  const watchFor = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 5) {
      await node.watch()
      clock.advance(5_000)
    }
  }
  await watchFor(300)
  assert.deepEqual([opened, decisions, local.status()?.error], [1, [], undefined])
  assert.ok(asked <= 30, `an idle worker was asked for ${asked} times in 5 minutes`)

  asked = 0
  for (let fetch = 0; fetch < 42; fetch++) {
    await consumer?.nextJobFromJobData(undefined)
    await watchFor(15)
  }
  assert.equal(asked, 2, 'a worker whose fetches find no job is asked every 5 minutes')

  waiting = 3
  await watchFor(35)
  assert.equal(opened, 2)
  assert.deepEqual([local.state, local.status()?.error?.code], ['running', 'WORKER_NOT_FETCHING'])
  assert.throws(() => node.check(), /Worker "mail" took no job/)
  assert.match(decisions[0]?.join() ?? '', /^restarted,Worker "mail" took no job for \d+ s although 3 wait and it has idle slots/)
  await watchFor(35)
  assert.deepEqual([opened, decisions.length], [3, 1], 'it is replaced again, and decided once')

  waiting = 0
  await watchFor(15)
  assert.equal(local.status()?.error, undefined)
  node.check()
  assert.deepEqual(
    decisions.map(([verdict]) => verdict),
    ['restarted', 'recovered'],
  )
  await node.close({ drainMs: 0, cancelMs: 0, reportMs: 2_000 })
  await cluster.close()
})

it('a worker whose code did not load in time is FAILED, and starts by itself when it loads later', async () => {
  const clock = fakeClock()
  const { cluster, shared } = localState({ clock, hub: new MemoryHub(), store: memoryState({ clock }) })
  await cluster.open()
  let late = true
  const load = async (): Promise<unknown> => {
    if (late) throw processorErrors.PROCESSOR_LOAD_TIMEOUT('slow.mjs', 10_000)
    return { run: () => undefined, resize: () => undefined, close: async () => undefined }
  }
  const decisions: string[] = []
  const node = new WorkerNode({
    shared,
    clock,
    log: silentLog,
    id: 'here',
    queues,
    ...common,
    processors: { loadHealthCheck: async () => undefined, load } as unknown as Processors,
    stopLimits: { drainMs: 0, cancelMs: 0 },
    decide: ({ verdict }) => decisions.push(verdict),
  })
  const worker = stored('mail', { desired: desired({ state: 'running' }) })
  const local = node.localWorker({ name: 'mail', id: worker.id })
  const should = desiredStateOf(worker, { run: true, version: '1.0.0' })
  await local.apply(worker, async () => ({ desired: should, assigned: true, stalledTurn: undefined, alone: false, drains: false }))
  assert.deepEqual([local.state, local.status()?.error?.code, decisions], ['FAILED', 'PROCESSOR_LOAD_TIMEOUT', ['failed']])
  assert.throws(() => node.check(), /mail FAILED: The processor "slow.mjs" did not load within 10000 ms/)
  late = false
  await eventually('the worker runs', () => local.state === 'running')
  assert.deepEqual([local.status()?.error, decisions], [undefined, ['failed', 'recovered']])
  node.check()
  await node.close({ drainMs: 0, cancelMs: 0, reportMs: 2_000 })
  await cluster.close()
})

it('a node whose lease has ended keeps its workers, because it still runs, and others take them over until it is back', async () => {
  const clock = fakeClock()
  const hub = new MemoryHub()
  const store = memoryState({ clock })
  const [here, there] = ['here', 'there'].map((node) => localState({ clock, node, hub, store })) as [
    ReturnType<typeof localState>,
    ReturnType<typeof localState>,
  ]
  for (const { cluster, shared } of [here, there]) {
    await shared.describe({ region: 'us-east-1', consumes: true })
    await cluster.open()
  }
  const order = ({ shared }: typeof here) => placementOf({ nodes: 'all' }, 'mail', shared.known()).toSorted()
  await eventually('both know both', () => [order(here), order(there)].every((nodes) => nodes.join() === 'here,there'))
  clock.advance(15_001)
  await there.cluster.heartbeat()
  await eventually('the other one learns it', () => order(there).join() === 'there')
  await eventually('and so does the node', () => here.cluster.nodes().some(({ alive, id }) => id === 'here' && !alive))
  assert.deepEqual(order(here), ['here', 'there'])
  await here.cluster.heartbeat()
  await eventually('it is back', () => order(there).join() === 'here,there')
  await Promise.all([here.cluster.close(), there.cluster.close()])
})
