import type { Kv } from 'zin/plugins/kv'
import { workerErrors } from '../errors.js'
import type { StoredWorker, WorkerStore } from './contract.js'
import { entryOf, type KvEntry } from './kv-entry.js'
import { KvSlots } from './kv-slots.js'
import { pageOf } from './page.js'

/** What is left of a removed worker for a while: a name that is free again. */
const removed = ''
const removedMs = 60_000
/** How often a change of the key is tried when others write it at the same time. */
const tries = 100

/**
 * Workers in any key-value store, shared by all processes of the app. For one that is not Redis: that has a store of its own.
 *
 * The contract has no sets, so a worker takes a numbered slot that names it, and a slot counts only when the worker points back
 * at it. Every write names the value that it replaces; there is no such removal, so a removed worker becomes an empty value that ends.
 */
export function kvStore(kv: Kv, keyPrefix: string): WorkerStore {
  const workerKey = (name: string): string => `${keyPrefix}:workers:${name}`
  const slots = new KvSlots(kv, keyPrefix, workerKey)
  const textOf = (entry: KvEntry): string => JSON.stringify(entry)
  const free = async (key: string, text: string): Promise<boolean> =>
    (await kv.set(key, text, { ifAbsent: true })) || kv.set(key, text, { ifValue: removed })

  return {
    driver: 'kvstore',
    place: { keyPrefix },
    shared: true,
    async prepare() {},
    async insert(worker) {
      const { name } = worker.record
      const slot = await slots.take(name)
      if (await free(workerKey(name), textOf({ slot, worker }))) return true
      await slots.free(slot)
      return false
    },
    async get(name) {
      return entryOf(await kv.get(workerKey(name)))?.worker
    },
    async page(query) {
      return pageOf(await slots.workers(), query)
    },
    async all() {
      return pageOf(await slots.workers(), { offset: 0, limit: Number.POSITIVE_INFINITY, inactive: true }).workers
    },
    async replace(worker) {
      const key = workerKey(worker.record.name)
      const text = await kv.get(key)
      const stored = entryOf(text)
      if (text === null || stored === undefined || !isBefore(stored.worker, worker)) return false
      return kv.set(key, textOf({ slot: stored.slot, worker }), { ifValue: text })
    },
    async remove({ id, record: { name } }) {
      const key = workerKey(name)
      for (let attempt = 0; attempt < tries; attempt++) {
        const text = await kv.get(key)
        const stored = entryOf(text)
        if (text === null || stored?.worker.id !== id) return false
        if (!(await kv.set(key, removed, { ifValue: text, ttlMs: removedMs }))) continue
        await slots.free(stored.slot)
        return true
      }
      throw workerErrors.WORKER_CHANGED(name)
    },
  }
}

/** Whether one generation of a worker comes right before another. */
function isBefore(stored: StoredWorker, next: StoredWorker): boolean {
  return stored.id === next.id && stored.generation === next.generation - 1
}
