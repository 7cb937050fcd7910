import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from 'zin'
import { MemoryHub } from 'zin/plugins/cluster'
import { type Database, database, databaseService } from 'zin/plugins/database'
import { edgeProxy } from 'zin/plugins/edge-proxy'
import { createTestHost, fakeClock } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { stateMigration } from '../migrations/0002-create-state.js'
import { durationsMigration } from '../migrations/0004-create-durations.js'
import { outcomeCountsMigration } from '../migrations/0005-add-outcome-counts.js'
import { onConnection } from '../on-connection.js'
import { localState, nodeStatus } from '../testing/helpers.js'
import type { OperationRecord, StateStore, WorkerMessage } from './contract.js'
import { durationBounds } from './durations.js'
import { dayMs } from './keep.js'
import { memoryState } from './memory.js'
import { ageState } from './sql/age.contract.js'
import { sqlState } from './sql/sql.js'
import { stateContract, type TestedState } from './state.contract.js'

stateContract('memory', async (): Promise<TestedState> => {
  const store = memoryState({ clock: systemClock })
  return { open: async () => store, close: async () => undefined }
})

const stateOf = (service: Database, prefix = 'zin_worker', connection = 'default') => sqlState({ database: service, connection, prefix })

const stateMigrations = [stateMigration('zin_worker'), durationsMigration('zin_worker'), outcomeCountsMigration('zin_worker')]

async function sqlite(env: Readonly<Record<string, string>> = {}) {
  const host = await createTestHost({ plugins: [database()], env })
  const service = host.service(databaseService)
  for (const migration of stateMigrations) await migration.up(service.tables())
  return { host, service }
}

stateContract('SQLite', async (): Promise<TestedState> => {
  const { host, service } = await sqlite()
  return { open: async () => stateOf(service), close: async () => void (await host.stop()) }
})

it('behind the edge proxy, counts of many workers are written and read in parts within its limits', async () => {
  const secrets = { EDGE_REMOTE_SECRET: 'a secret of the tests of shared state', EDGE_REMOTE_MODE: 'sql' }
  const proxy = await createTestHost({ plugins: [edgeProxy()], env: { ...secrets, EDGE_RATE_PER_MINUTE: '0' }, listen: true })
  const env = { ...secrets, DB_CONNECTION: 'edge-remote', EDGE_REMOTE_URL: proxy.url, EDGE_REMOTE_KEY_ID: 'app' }
  const { host, service } = await sqlite(env)
  const store = stateOf(service)
  const durations = Object.fromEntries(Array.from({ length: durationBounds.length + 1 }, (_, bucket) => [bucket, bucket + 1]))
  const deltas = Array.from({ length: 100 }, (_, n) => ({ ...delta, worker: `worker-${n}`, durations }))
  const parts: number[] = []
  for (let counted = 0; counted < deltas.length; counted += parts.at(-1) ?? 0) parts.push(await store.count(deltas.slice(counted)))
  assert.ok(parts.length > 1 && parts.every((part) => part > 0), parts.join())
  const names = deltas.map(({ worker }) => worker)
  assert.deepEqual(
    (await store.counts(names, { since: 0 })).map(({ worker, completed, durations }) => ({ worker, completed, durations })),
    names.map((worker) => ({ worker, completed: 1, durations })),
  )
  await host.stop()
  await proxy.stop()
})

const operation: OperationRecord = {
  id: 'o',
  worker: 'w',
  workerId: 'i',
  action: 'stop',
  generation: 1,
  targets: [],
  desired: 'running',
  at: 1,
}
const delta = {
  worker: 'w',
  version: '1.0.0',
  completed: 1,
  failed: 0,
  lost: 0,
  timedOut: 0,
  cancelled: 0,
  totalMs: 1,
  durations: { 8: 1 },
}

async function keepsForADay(store: StateStore, at: number, age: (ms: number) => Promise<void>): Promise<void> {
  await store.count([delta])
  await store.saveOperation({ ...operation, at })
  await store.sweep([])
  assert.deepEqual(await store.counts(['w'], { since: 0 }), [
    { worker: 'w', completed: 1, failed: 0, lost: 0, timedOut: 0, cancelled: 0, totalMs: 1, durations: { 8: 1 } },
  ])
  assert.deepEqual(await store.operation('o'), { ...operation, at })
  await age(dayMs + 60_000)
  assert.deepEqual(await store.counts(['w'], { since: 0 }), [])
  assert.equal(await store.operation('o'), undefined)
  await store.sweep([])
  assert.equal((await store.totals(['w'])).get('w')?.completed, 1)
}

describe('the shared state', () => {
  it('is kept for a day in memory', async () => {
    const clock = fakeClock()
    await keepsForADay(memoryState({ clock }), clock.now(), async (ms) => clock.advance(ms))
  })

  it('is kept for a day in SQLite, whose migrations can be repeated and reverted', async () => {
    const { host, service } = await sqlite()
    for (const migration of [...stateMigrations, ...stateMigrations]) await migration.up(service.tables())
    const store = stateOf(service)
    await store.change('w')
    // More rows than one statement can insert or delete.
    const durations = Object.fromEntries(durationBounds.map((_, bucket) => [bucket, 1]))
    await store.count(Array.from({ length: 20 }, (_, n) => ({ ...delta, worker: `w${n}`, durations })))
    await keepsForADay(store, 1, (ms) => ageState(service.tables(), 'zin_worker', ms))
    for (const table of ['minutes', 'durations', 'operations']) {
      assert.deepEqual(await service.tables().selectFrom(`zin_worker_${table}`).selectAll().execute(), [], table)
    }
    assert.deepEqual(await service.tables().selectFrom('zin_worker_changes').select('worker').execute(), [{ worker: '' }])
    for (const migration of [...stateMigrations].reverse()) await migration.down(service.tables())
    await assert.rejects(store.totals(['w']), /no such table/)
    await host.stop()
  })

  it('requests reading all workers since a revision after which changes were swept', async () => {
    const { host, service } = await sqlite()
    const store = stateOf(service)
    const changed = async (since: number) => (await store.news('n', since)).changed
    const dayLater = async () => {
      await ageState(service.tables(), 'zin_worker', dayMs + 60_000)
      await store.sweep([])
    }
    for (const worker of ['a', 'a', 'b']) await store.change(worker)
    await store.sweep([])
    const listed = [
      ['a', 2],
      ['b', 3],
    ] as const
    assert.deepEqual(await changed(0), new Map(listed))
    for (let day = 1; day <= 3; day++) {
      const { revision } = await store.news('n', -1)
      await dayLater()
      assert.deepEqual([await changed(0), await changed(revision - 1), await changed(revision)], ['all', 'all', new Map()])
      // Still known after a day without changes.
      await dayLater()
      assert.deepEqual([await changed(revision - 1), await changed(revision)], ['all', new Map()])
      await store.change('c')
      assert.deepEqual([await changed(revision - 1), await changed(revision)], ['all', new Map([['c', revision + 1]])])
    }
    await host.stop()
  })

  it('can be on another connection, where its migration accepts existing tables', async () => {
    const host = await createTestHost({ plugins: [database({ connections: { second: { driver: 'sqlite', file: 'second.db' } } })] })
    const service = host.service(databaseService)
    const [migration] = onConnection(service, 'second', [stateMigration('mine')])
    for (let times = 1; times <= 2; times++) {
      await migration?.up(service.tables())
      assert.equal(await stateOf(service, 'mine', 'second').change('w'), times)
    }
    await host.stop()
  })

  it('throws WORKER_CLUSTER_UNAVAILABLE while the database is down', async () => {
    const { host, service } = await sqlite()
    const store = stateOf(service)
    await host.stop()
    const error = await store.totals(['w']).catch((thrown: unknown) => thrown)
    assert.deepEqual([(error as { code?: string }).code, (error as { status?: number }).status], ['WORKER_CLUSTER_UNAVAILABLE', 503])
    assert.equal(store.isUnavailable(error), true)
  })

  it('is published to all nodes once, and marks the statuses of lost nodes', async () => {
    const clock = fakeClock()
    const [hub, store] = [new MemoryHub(), memoryState({ clock })]
    const [one, two] = [localState({ clock, node: 'one', hub, store }), localState({ clock, node: 'two', hub, store })]
    await Promise.all([one.cluster.open(), two.cluster.open()])
    const heard: WorkerMessage[] = []
    two.shared.listen((message) => heard.push(message))
    await one.shared.report([nodeStatus('emails'), nodeStatus('reports')])
    await one.shared.restore([nodeStatus('emails')], 0)
    await one.shared.publishChange('emails')
    await eventually('three messages', () => heard.length === 3)
    assert.deepEqual(heard, [
      { kind: 'status', node: 'one', status: nodeStatus('emails') },
      { kind: 'status', node: 'one', status: nodeStatus('reports') },
      { kind: 'change', worker: 'emails', revision: 1 },
    ])
    const aliveOn = async () => (await two.shared.statusesOf('emails')).map(({ node, alive }) => [node, alive])
    assert.deepEqual([await aliveOn(), [...(await two.shared.running())].sort()], [[['one', true]], ['emails', 'reports']])
    clock.advance(15_001)
    await two.cluster.heartbeat()
    assert.deepEqual([await aliveOn(), (await two.shared.running()).size], [[['one', false]], 0])
    await store.report('stranger', [nodeStatus('emails')])
    assert.deepEqual(await aliveOn(), [['one', false]])
    await two.shared.sweep()
    assert.deepEqual(
      (await store.statuses(['emails'])).map(({ node }) => node),
      ['one'],
    )
    await Promise.all([one.cluster.close(), two.cluster.close()])
  })
})
