import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PersistencePlace } from '../record/record.js'
import { stored } from '../testing/stored-worker.js'
import type { WorkerStore } from './contract.js'
import { guarded } from './guarded.js'
import { memoryStore } from './memory.js'
import { StoreRegistry } from './registry.js'

const refuseToOpen = (): never => assert.fail('nothing may be opened')
const inStore = async (names: readonly string[]): Promise<WorkerStore> => {
  const store = memoryStore()
  for (const name of names) await store.insert(stored(name))
  return store
}
const broken: WorkerStore = guarded(
  {
    ...memoryStore(),
    get: () => Promise.reject(new Error('gone')),
    page: () => Promise.reject(new Error('gone')),
    all: () => Promise.reject(new Error('gone')),
  },
  () => true,
)
const at = (persistence: PersistencePlace) => ({ ...stored('placed').record, infrastructure: { persistence } })

describe('the stores of an app', () => {
  it('are listed as one, sorted by name, wherever a page begins', async () => {
    const names = Array.from({ length: 23 }, (_, index) => `worker-${String(index).padStart(2, '0')}`)
    const stores = await Promise.all([0, 1, 2].map((part) => inStore(names.filter((_, index) => (index * index) % 3 === part))))
    const storeRegistry = new StoreRegistry([...stores, memoryStore()], refuseToOpen)
    for (let offset = 0; offset <= 25; offset++) {
      for (const limit of [1, 5, 100]) {
        const { workers, total } = await storeRegistry.page({ offset, limit, inactive: false })
        assert.deepEqual(
          [workers.map(({ record }) => record.name), total],
          [names.slice(offset, offset + limit), 23],
          `offset ${offset}, limit ${limit}`,
        )
      }
    }
    const { workers, total } = await storeRegistry.page({
      offset: 1,
      limit: 2,
      inactive: false,
      only: new Set(['worker-01', 'worker-03', 'worker-22']),
    })
    assert.deepEqual([workers.map(({ record }) => record.name), total], [['worker-03', 'worker-22'], 3])
    assert.deepEqual(
      (await storeRegistry.all()).map(({ record }) => record.name),
      names,
    )
  })

  it('are queried once per page if only one has workers', async () => {
    const store = await inStore(['one-a', 'one-b', 'one-c'])
    let asked = 0
    const counted: WorkerStore = { ...store, page: (query) => (asked++, store.page(query)) }
    const { workers, total } = await new StoreRegistry([memoryStore(), counted], refuseToOpen).page({
      offset: 2,
      limit: 2,
      inactive: false,
    })
    assert.deepEqual([workers.map(({ record }) => record.name), total, asked], [['one-c'], 3, 1])
  })

  it('accept a name only once across all of them, even for concurrent inserts', async () => {
    const [first, second] = [memoryStore(), memoryStore()]
    const storeRegistry = new StoreRegistry([first, second], refuseToOpen)
    assert.equal(await storeRegistry.insert(first, stored('unique')), true)
    assert.equal(await storeRegistry.insert(second, stored('unique')), false)
    assert.equal((await second.all()).length, 0)
    const wins = await Promise.all([storeRegistry.insert(first, stored('race')), storeRegistry.insert(second, stored('race'))])
    assert.equal(wins.filter(Boolean).length, 1)
    assert.equal((await storeRegistry.all()).filter(({ record }) => record.name === 'race').length, 1)
  })

  it('find a worker, and find it again after it moved', async () => {
    const [first, second] = [memoryStore(), memoryStore()]
    const storeRegistry = new StoreRegistry([first, second], refuseToOpen)
    const worker = stored('mover')
    await second.insert(worker)
    assert.equal((await storeRegistry.find('mover'))?.store, second)
    await second.remove(worker)
    await first.insert(worker)
    assert.equal((await storeRegistry.find('mover'))?.store, first)
    await first.remove(worker)
    assert.equal(await storeRegistry.find('mover'), undefined)
  })

  it('forget where a removed worker was when all workers are read', async () => {
    const asked: string[] = []
    const noting = (store: WorkerStore, title: string): WorkerStore => ({ ...store, get: (name) => (asked.push(title), store.get(name)) })
    const [first, second] = [memoryStore(), memoryStore()]
    const storeRegistry = new StoreRegistry([noting(first, 'first'), noting(second, 'second')], refuseToOpen)
    const [stays, goes] = [stored('stays'), stored('goes')]
    for (const worker of [stays, goes]) {
      await second.insert(worker)
      await storeRegistry.find(worker.record.name)
    }
    // As by another node.
    await second.remove(goes)
    await storeRegistry.all()
    asked.length = 0
    assert.equal(await storeRegistry.find('goes'), undefined)
    assert.deepEqual(asked, ['first', 'second'], 'the store that had it is not asked before the others')
    asked.length = 0
    assert.deepEqual((await storeRegistry.find('stays'))?.worker, stays)
    assert.deepEqual(asked, ['second'])
  })

  it('report an unreachable store rather than a missing worker', async () => {
    const storeRegistry = new StoreRegistry([broken, await inStore(['here'])], refuseToOpen)
    assert.equal((await storeRegistry.find('here'))?.worker.record.name, 'here')
    const unavailable = { code: 'WORKER_STORE_UNAVAILABLE', status: 503 }
    await assert.rejects(storeRegistry.find('nobody'), unavailable)
    await assert.rejects(storeRegistry.page({ offset: 0, limit: 1, inactive: false }), unavailable)
    await assert.rejects(storeRegistry.all(), unavailable)
  })

  it('report which store does not respond in time', async () => {
    const frozen: WorkerStore = { ...memoryStore(), get: () => new Promise(() => undefined) }
    const storeRegistry = new StoreRegistry([guarded(frozen, () => false, 'kvstore (the plugin kv, on Redis)', 10)], refuseToOpen)
    await assert.rejects(storeRegistry.find('anybody'), {
      code: 'WORKER_STORE_UNAVAILABLE',
      status: 503,
      message: /in kvstore \(the plugin kv, on Redis\) cannot be reached: no response within 10 ms/,
    })
  })

  it('are opened only by code, once per location and client', async () => {
    const opened: unknown[] = []
    const storeRegistry = new StoreRegistry(
      [{ ...memoryStore(), driver: 'db', place: { connection: 'default', table: 'workers' } }],
      (place, client) => {
        opened.push([place, client])
        return { ...memoryStore(), driver: place.driver, place: { connection: 'default', table: place.table ?? 'workers' } }
      },
    )
    const own = await storeRegistry.storeOf(at({ driver: 'db' }), { trusted: false })
    assert.equal(await storeRegistry.storeOf(at({ driver: 'db', connection: 'default', table: 'workers' }), { trusted: false }), own)
    const other = at({ driver: 'db', table: 'other' })
    const refused = { code: 'INVALID_PERSISTENCE_CONFIG', status: 400 }
    await assert.rejects(storeRegistry.storeOf(other, { trusted: false }), refused)
    await assert.rejects(storeRegistry.storeOf(at({ driver: 'docstore' }), { trusted: false }), refused)
    await assert.rejects(storeRegistry.storeOf(at({ driver: 'db' }), { trusted: false, client: {} }), refused)
    const [one, same] = await Promise.all([
      storeRegistry.storeOf(other, { trusted: true }),
      storeRegistry.storeOf(other, { trusted: true }),
    ])
    assert.equal(one, same)
    assert.equal(await storeRegistry.storeOf(other, { trusted: false }), one, 'what code opened is known')
    const client = {}
    const given = await storeRegistry.storeOf(at({ driver: 'db' }), { trusted: true, client })
    assert.notEqual(given, own)
    assert.equal(await storeRegistry.storeOf(at({ driver: 'db' }), { trusted: true, client }), given)
    assert.equal(opened.length, 2)
    await given.insert(stored('far-away'))
    assert.equal((await storeRegistry.find('far-away'))?.store, given)
  })
})
