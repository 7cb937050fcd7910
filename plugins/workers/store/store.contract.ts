import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { recordOf } from '../record/record.js'
import type { StoredWorker, WorkerStore } from './store.js'

const stored = (name: string, changes: Partial<StoredWorker> = {}): StoredWorker => ({
  id: randomUUID(),
  record: recordOf({ name, queueName: 'queue', processor: 'a.ts', features: { metrics: true } }, { concurrency: 5, driver: 'memory' }),
  desired: { state: 'stopped', by: 'rule', restarts: 0 },
  generation: 1,
  createdAt: 1_900_000_000_123,
  updatedAt: 1_900_000_000_456,
  ...changes,
})

/** What every store of workers does. `open` gives an empty one. */
export function storeContract(title: string, open: () => Promise<{ store: WorkerStore; close(): Promise<void> }>): void {
  describe(`the worker store ${title}`, () => {
    let store: WorkerStore
    let close: () => Promise<void>
    before(async () => ({ store, close } = await open()))
    after(() => close())

    it('is empty at first', async () => {
      assert.deepEqual(await store.all(), [])
      assert.equal(await store.get('nobody'), undefined)
    })

    it('gives back what was inserted, and takes a name once', async () => {
      const worker = stored('first')
      assert.equal(await store.insert(worker), true)
      assert.deepEqual(await store.get('first'), worker)
      assert.equal(await store.insert(stored('first')), false)
      assert.deepEqual(await store.get('first'), worker)
    })

    it('tells names apart by case', async () => {
      assert.equal(await store.insert(stored('First')), true)
      assert.equal((await store.get('First'))?.record.name, 'First')
      assert.equal((await store.get('first'))?.record.name, 'first')
    })

    it('lists all by name', async () => {
      await store.insert(stored('zebra'))
      await store.insert(stored('apple'))
      assert.deepEqual((await store.all()).map((worker) => worker.record.name).sort(), ['First', 'apple', 'first', 'zebra'])
    })

    it('replaces the generation before, and nothing else', async () => {
      const worker = stored('versions')
      await store.insert(worker)
      const second: StoredWorker = {
        ...worker,
        generation: 2,
        desired: { state: 'running', by: 'operator', restarts: 3 },
        updatedAt: 1_900_000_000_789,
      }
      assert.equal(await store.replace(second), true)
      assert.deepEqual(await store.get('versions'), second)
      assert.equal(await store.replace({ ...worker, generation: 2 }), false, 'the same generation again')
      assert.equal(await store.replace({ ...worker, generation: 9 }), false, 'a generation from nowhere')
      assert.equal(await store.replace({ ...worker, id: randomUUID(), generation: 3 }), false, 'another worker of that name')
      assert.equal(await store.replace(stored('missing', { generation: 2 })), false, 'a worker that is not there')
      assert.deepEqual(await store.get('versions'), second)
    })

    it('lets one of many writers of a generation win', async () => {
      const worker = stored('contended')
      await store.insert(worker)
      const writers = Array.from({ length: 8 }, (_, index) => ({ ...worker, generation: 2, updatedAt: index }))
      const wins = await Promise.all(writers.map((writer) => store.replace(writer)))
      assert.equal(wins.filter(Boolean).length, 1)
      assert.equal((await store.get('contended'))?.updatedAt, wins.indexOf(true))
    })

    it('lets one of many inserts of a name win', async () => {
      const wins = await Promise.all(Array.from({ length: 8 }, () => store.insert(stored('race'))))
      assert.equal(wins.filter(Boolean).length, 1)
      assert.equal((await store.all()).filter((worker) => worker.record.name === 'race').length, 1)
    })

    it('removes the worker it is given and no other of that name', async () => {
      const worker = stored('leaver')
      await store.insert(worker)
      assert.equal(await store.remove(stored('leaver')), false)
      assert.equal(await store.remove(worker), true)
      assert.equal(await store.remove(worker), false)
      assert.equal(await store.get('leaver'), undefined)
      assert.ok((await store.all()).every((other) => other.record.name !== 'leaver'))
      assert.equal(await store.insert(stored('leaver')), true)
      assert.equal((await store.all()).filter((other) => other.record.name === 'leaver').length, 1)
    })
  })
}
