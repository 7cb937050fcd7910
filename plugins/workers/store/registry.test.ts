import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import type { PersistencePlace } from '../record/record.js'
import { stored } from '../testing/stored-worker.js'
import type { WorkerStore } from './contract.js'
import { guarded } from './guarded.js'
import { memoryStore } from './memory.js'
import type { Places } from './places.js'
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
    assert.equal(await storeRegistry.insert(first, stored('unique')), 'inserted')
    assert.equal(await storeRegistry.insert(second, stored('unique')), 'taken')
    assert.equal((await second.all()).length, 0)
    const wins = await Promise.all([storeRegistry.insert(first, stored('race')), storeRegistry.insert(second, stored('race'))])
    assert.equal(wins.filter((result) => result === 'inserted').length, 1)
    assert.equal((await storeRegistry.all()).filter(({ record }) => record.name === 'race').length, 1)
  })

  it('accept a name only once when another process creates it in a place that is new, in any order of their steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.boolean(), async (order, isFirstLower) => {
        const list: PersistencePlace[] = []
        const kept = new Map<string, WorkerStore>()
        const step = <T>(name: string, work: () => Promise<T>): Promise<T> => order.schedule(Promise.resolve(), name).then(work)
        /** As another process opens it: with the same content. */
        const open = (place: PersistencePlace): WorkerStore => {
          const key = place.table ?? 'workers'
          const store = kept.get(key) ?? {
            ...memoryStore(),
            driver: 'db',
            place: { connection: 'default', table: key },
            prepare: async () => undefined,
          }
          kept.set(key, store)
          return {
            ...store,
            get: (name) => step(`get ${key}`, () => store.get(name)),
            insert: (worker) => step(`insert ${key}`, () => store.insert(worker)),
            remove: (worker) => step(`remove ${key}`, () => store.remove(worker)),
          }
        }
        const places = {
          list: () => step('list', async () => [...list]),
          add: (place: PersistencePlace) => step('add', async () => void list.push(place)),
          opened: () => undefined,
          failed: (_: unknown, error: unknown) => assert.fail(String(error)),
        } as unknown as Places
        const create = async (table: string | undefined, id: string): Promise<boolean> => {
          const registry = new StoreRegistry([open({ driver: 'db' })], open, places)
          const worker = { ...at({ driver: 'db', ...(table && { table }) }), name: 'unique' }
          const store = await registry.storeOf(worker, { trusted: true })
          return (await registry.insert(store, stored('unique', { id }))) === 'inserted'
        }
        const [lower, higher] = ['a', 'b']
        const both = [create(undefined, isFirstLower ? lower : higher), create('other', isFirstLower ? higher : lower)]
        let wins: boolean[] = []
        const ended = Promise.all(both).then((created) => {
          wins = created
        })
        await order.waitFor(ended)
        const left = await Promise.all([...kept.values()].map((store) => store.all()))
        assert.deepEqual([wins.filter(Boolean).length, left.flat().length], [1, 1])
      }),
      { numRuns: 200 },
    )
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

  it('find a worker in a place that another call opens meanwhile', async () => {
    const far: WorkerStore = { ...(await inStore(['there'])), driver: 'db', place: { table: 'other' } }
    let respond = (): void => undefined
    const slow = new Promise<void>((resolve) => {
      respond = resolve
    })
    const near: WorkerStore = { ...memoryStore(), get: () => slow.then(() => undefined) }
    const places = { list: async () => [{ driver: 'db', table: 'other' }], opened: () => undefined } as unknown as Places
    const storeRegistry = new StoreRegistry([near], () => far, places)
    const found = storeRegistry.find('there')
    await storeRegistry.all()
    respond()
    assert.equal((await found)?.store, far)
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
