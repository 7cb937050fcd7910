import type { Kv } from 'zin/plugins/kv'
import { workerErrors } from '../errors.js'
import { entryOf, type KvEntry } from './kv-entry.js'
import { KvSlots } from './kv-slots.js'
import { pageOf } from './page.js'
import type { StoredWorker, WorkerStore } from './store.js'

/** How long a claim on the next generation holds when its writer dies before it writes. */
const claimMs = 10_000
/** How often a removal waits for those who write the same worker. */
const removals = 100

/**
 * Workers in any key-value store, shared by all processes of the app. For one that is not Redis: that has a store of its own.
 *
 * The contract has no sets and no compare-and-set, so: a worker takes a numbered slot that names it, and a slot counts
 * only when the worker points back at it; and who writes generation n of a worker claims it first by a key that
 * exactly one writer can make.
 */
export function kvStore(kv: Kv, keyPrefix: string): WorkerStore {
  const workerKey = (name: string): string => `${keyPrefix}:workers:${name}`
  const slots = new KvSlots(kv, keyPrefix, workerKey)
  const claim = ({ id }: StoredWorker, generation: number): Promise<boolean> =>
    kv.set(`${keyPrefix}:worker-claims:${id}:${generation}`, '1', { ifAbsent: true, ttlMs: claimMs })
  const read = async (name: string): Promise<KvEntry | undefined> => entryOf(await kv.get(workerKey(name)))
  /** The stored worker, when it is the one meant and nobody else may write it now. */
  const own = async (worker: StoredWorker, before: number): Promise<KvEntry | undefined> => {
    const meant = async (): Promise<KvEntry | undefined> => {
      const stored = await read(worker.record.name)
      return stored?.worker.id === worker.id && stored.worker.generation === before ? stored : undefined
    }
    // Asked before as well: a claim that comes to nothing would keep the right writer waiting.
    return (await meant()) !== undefined && (await claim(worker, before + 1)) ? meant() : undefined
  }

  return {
    driver: 'kvstore',
    place: { keyPrefix },
    shared: true,
    async prepare() {},
    async insert(worker) {
      const { name } = worker.record
      const slot = await slots.take(name)
      if (await kv.set(workerKey(name), JSON.stringify({ slot, worker } satisfies KvEntry), { ifAbsent: true })) return true
      await slots.free(slot)
      return false
    },
    async get(name) {
      return (await read(name))?.worker
    },
    async page(query) {
      return pageOf(await slots.workers(), query)
    },
    async all() {
      return pageOf(await slots.workers(), { offset: 0, limit: Number.POSITIVE_INFINITY, inactive: true }).workers
    },
    async replace(worker) {
      const stored = await own(worker, worker.generation - 1)
      if (stored === undefined) return false
      return kv.set(workerKey(worker.record.name), JSON.stringify({ slot: stored.slot, worker } satisfies KvEntry))
    },
    async remove(worker) {
      const { name } = worker.record
      for (let attempt = 0; attempt < removals; attempt++) {
        const seen = await read(name)
        if (seen?.worker.id !== worker.id) return false
        const stored = await own(worker, seen.worker.generation)
        if (stored === undefined) continue
        const removed = await kv.delete(workerKey(name))
        await slots.free(stored.slot)
        return removed
      }
      throw workerErrors.WORKER_CHANGED(name)
    },
  }
}
