import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { firstVersionOf } from '../record/make.js'
import { createdAt, stored } from '../testing/stored-worker.js'
import type { PageQuery, StoredWorker, WorkerStore } from './contract.js'

export interface ContractStore {
  readonly store: WorkerStore
  /** Another store object at the same location, as in another process; absent if that is impossible. */
  readonly second?: WorkerStore
  /** Number of workers in the test with many workers. Default 1000; at least 200. */
  readonly many?: number
  close(): Promise<void>
}

/** Tests for every store of workers. `open` returns an empty one. */
export function storeContract(title: string, open: () => Promise<ContractStore>): void {
  describe(`the worker store ${title}`, () => {
    let store: WorkerStore
    let second: WorkerStore
    let many: number
    let close: () => Promise<void>
    before(async () => {
      const opened = await open()
      ;({ store, close } = opened)
      second = opened.second ?? store
      many = opened.many ?? 1000
      await store.prepare()
      await second.prepare()
    })
    after(() => close())

    const page = async (query: Partial<PageQuery> = {}, of = store) => {
      const { workers, total } = await of.page({ offset: 0, limit: 100, inactive: false, ...query })
      return { names: workers.map(({ record }) => record.name), total }
    }
    const empty = async (): Promise<void> => {
      for (const worker of await store.all()) assert.equal(await store.remove(worker), true)
    }

    it('is empty at first', async () => {
      assert.deepEqual(await store.all(), [])
      assert.equal(await store.get('nobody'), undefined)
      assert.deepEqual(await page({ inactive: true }), { names: [], total: 0 })
    })

    it('returns inserted workers, and accepts a name only once', async () => {
      const worker = stored('first')
      assert.equal(await store.insert(worker), true)
      assert.deepEqual(await store.get('first'), worker)
      assert.equal(await second.insert(stored('first')), false)
      assert.deepEqual(await second.get('first'), worker)
      assert.deepEqual((await second.page({ offset: 0, limit: 1, inactive: false })).workers, [worker])
      assert.deepEqual(await second.all(), [worker])
    })

    it('distinguishes names by case, and sorts them by bytes', async () => {
      for (const name of ['First', 'zebra', 'apple', 'a-b', 'a_b', 'a0b']) assert.equal(await store.insert(stored(name)), true)
      assert.equal((await store.get('First'))?.record.name, 'First')
      assert.equal((await store.get('first'))?.record.name, 'first')
      const names = ['First', 'a-b', 'a0b', 'a_b', 'apple', 'first', 'zebra']
      assert.deepEqual(
        (await store.all()).map((worker) => worker.record.name),
        names,
      )
      assert.deepEqual(await page(), { names, total: 7 })
    })

    it('stores a worker with many long versions', async () => {
      const version = { ...firstVersionOf({ name: 'long', queueName: 'queue' }, createdAt), description: 'ü'.repeat(1000) }
      const worker = stored('long', { versions: Array.from({ length: 100 }, (_, index) => ({ ...version, version: `1.0.${index}` })) })
      assert.equal(await store.insert(worker), true)
      assert.deepEqual(await second.get('long'), worker)
      await empty()
    })

    it('returns a page with the total, and an empty page after the last one', async () => {
      for (const name of ['page-3', 'page-1', 'page-5', 'page-2', 'page-4']) await store.insert(stored(name))
      assert.deepEqual(await page({ limit: 2 }), { names: ['page-1', 'page-2'], total: 5 })
      assert.deepEqual(await page({ limit: 2, offset: 4 }), { names: ['page-5'], total: 5 })
      assert.deepEqual(await page({ limit: 2, offset: 5 }), { names: [], total: 5 })
      assert.deepEqual(await page({ limit: 2, offset: 1_000_000 }), { names: [], total: 5 })
      assert.deepEqual(await page({ limit: 0 }), { names: [], total: 5 })
    })

    it('lists inactive workers only on request, including those that were replaced', async () => {
      const asleep = stored('page-0', {}, { activeStatus: false })
      await store.insert(asleep)
      assert.deepEqual((await page()).total, 5)
      assert.deepEqual(await page({ inactive: true, limit: 2 }), { names: ['page-0', 'page-1'], total: 6 })
      await second.replace({ ...asleep, generation: 2, record: { ...asleep.record, activeStatus: true } })
      assert.deepEqual(await page({ limit: 1 }), { names: ['page-0'], total: 6 })
      await second.replace({ ...asleep, generation: 3 })
      assert.deepEqual((await page()).total, 5)
    })

    it('includes or excludes workers by name', async () => {
      const only = new Set(['page-5', 'nobody', 'page-0', 'page-2', 'page-4'])
      assert.deepEqual(await page({ only }), { names: ['page-2', 'page-4', 'page-5'], total: 3 })
      assert.deepEqual(await page({ only, inactive: true, limit: 2, offset: 1 }), { names: ['page-2', 'page-4'], total: 4 })
      assert.deepEqual(await page({ only, offset: 3 }), { names: [], total: 3 })
      assert.deepEqual(await page({ only: new Set() }), { names: [], total: 0 })
      const without = new Set(['page-2', 'nobody', 'page-5', 'page-0'])
      assert.deepEqual(await page({ without, limit: 2 }), { names: ['page-1', 'page-3'], total: 3 })
      assert.deepEqual(await page({ without, inactive: true, offset: 2 }), { names: ['page-4'], total: 3 })
      assert.deepEqual(await page({ without: new Set() }), await page())
      assert.deepEqual(await page({ only, without }), { names: ['page-4'], total: 1 })
      assert.deepEqual(await page({ only, without: only }), { names: [], total: 0 })
    })

    it('replaces only the previous generation', async () => {
      const worker = stored('versions')
      await store.insert(worker)
      const next: StoredWorker = {
        ...worker,
        generation: 2,
        desired: {
          ...worker.desired,
          state: 'running',
          by: 'operator',
          restarts: 3,
          version: '1.0.1',
          previousVersion: '1.0.0',
          monitored: true,
        },
        updatedAt: 1_900_000_000_789,
      }
      assert.equal(await store.replace({ ...worker, generation: 9 }), false, 'a generation that does not follow')
      assert.equal(await store.replace({ ...worker, id: randomUUID(), generation: 2 }), false, 'another worker with that name')
      assert.equal(await store.replace(next), true)
      assert.deepEqual(await second.get('versions'), next)
      assert.equal(await second.replace({ ...worker, generation: 2 }), false, 'the same generation again')
      assert.equal(await store.replace(stored('missing', { generation: 2 })), false, 'a missing worker')
      assert.equal(await store.get('missing'), undefined)
      assert.deepEqual(await store.get('versions'), next)
    })

    it('accepts one of 20 concurrent writes of a generation', async () => {
      const worker = stored('contended')
      await store.insert(worker)
      const writers = Array.from({ length: 20 }, (_, index) => ({ ...worker, generation: 2, updatedAt: index }))
      const wins = await Promise.all(writers.map((writer, index) => (index % 2 === 0 ? store : second).replace(writer)))
      assert.equal(wins.filter(Boolean).length, 1)
      assert.equal((await store.get('contended'))?.updatedAt, wins.indexOf(true))
    })

    it('accepts one of 20 concurrent inserts of a name', async () => {
      const workers = Array.from({ length: 20 }, () => stored('race'))
      const wins = await Promise.all(workers.map((worker, index) => (index % 2 === 0 ? store : second).insert(worker)))
      assert.equal(wins.filter(Boolean).length, 1)
      assert.equal((await store.get('race'))?.id, workers[wins.indexOf(true)]?.id)
      assert.equal((await store.all()).filter((worker) => worker.record.name === 'race').length, 1)
    })

    it('removes the given worker, and no other with the same name', async () => {
      const worker = stored('leaver')
      await store.insert(worker)
      assert.equal(await second.remove(stored('leaver')), false)
      assert.equal(await second.remove(worker), true)
      assert.equal(await store.remove(worker), false)
      assert.equal(await store.get('leaver'), undefined)
      assert.ok((await page({ inactive: true })).names.every((name) => name !== 'leaver'))
      const next = stored('leaver')
      assert.equal(await second.insert(next), true)
      assert.equal(await store.replace({ ...worker, generation: 2 }), false)
      assert.deepEqual(
        (await store.all()).filter((other) => other.record.name === 'leaver'),
        [next],
      )
    })

    it('does not recreate a worker that is removed during a write', async () => {
      for (let round = 0; round < 10; round++) {
        const worker = stored('removed-while-written')
        await store.insert(worker)
        // Each round removes the worker at another step of the write.
        const remove = async (): Promise<boolean> => {
          for (let step = 0; step < round; step++) await second.get('removed-while-written')
          return second.remove(worker)
        }
        const [, removed] = await Promise.all([store.replace({ ...worker, generation: 2 }), remove()])
        assert.equal(removed, true)
        assert.equal(await store.get('removed-while-written'), undefined)
      }
      await empty()
      assert.deepEqual(await second.all(), [])
    })

    it('returns pages of many workers', async () => {
      const names = Array.from({ length: many }, (_, index) => `many-${String(index).padStart(4, '0')}`)
      const shuffled = names.map((_, index) => names[(index * 7) % many] ?? '')
      for (let start = 0; start < many; start += 20) {
        await Promise.all(shuffled.slice(start, start + 20).map((name) => store.insert(stored(name))))
      }
      assert.deepEqual(await page({ limit: 1000 }), { names, total: many })
      assert.deepEqual(await page({ limit: 100, offset: many - 10 }, second), { names: names.slice(-10), total: many })
      assert.deepEqual(await page({ only: new Set(names.slice(100)), limit: 3 }, second), {
        names: names.slice(100, 103),
        total: many - 100,
      })
      assert.deepEqual(await page({ without: new Set(names.slice(1, -1)) }), { names: [names[0], names.at(-1)], total: 2 })
      assert.equal((await second.all()).length, many)
    })
  })
}
