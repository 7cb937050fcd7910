import type { Kv } from 'zin/plugins/kv'
import { byName, type StoredWorker, type WorkerStore } from './store.js'

/** How long a claim on the next generation holds when its writer dies before it writes. */
const claimMs = 10_000

interface Entry {
  /** The slot that lists it. */
  readonly slot: number
  readonly worker: StoredWorker
}

/**
 * Workers in the key-value store, shared by all processes of the app.
 *
 * The store has no sets and no compare-and-set, so: a worker takes a numbered slot that names it, and a slot counts
 * only when the worker points back at it; and who writes generation n of a worker claims it first by a key that
 * exactly one writer can make.
 */
export function kvStore(kv: Kv, keyPrefix: string): WorkerStore {
  const workerKey = (name: string): string => `${keyPrefix}:workers:${name}`
  const slotKey = (slot: number): string => `${keyPrefix}:worker-slots:${slot}`
  const slotsKey = `${keyPrefix}:worker-slots`
  const claim = (worker: StoredWorker): Promise<boolean> =>
    kv.set(`${keyPrefix}:worker-claims:${worker.id}:${worker.generation}`, '1', { ifAbsent: true, ttlMs: claimMs })
  const read = async (name: string): Promise<Entry | undefined> => parse(await kv.get(workerKey(name)))

  return {
    driver: 'kvstore',
    place: { keyPrefix },
    shared: true,
    async insert(worker) {
      const { name } = worker.record
      const slot = await kv.increment(slotsKey)
      await kv.set(slotKey(slot), name)
      if (await kv.set(workerKey(name), JSON.stringify({ slot, worker } satisfies Entry), { ifAbsent: true })) return true
      await kv.delete(slotKey(slot))
      return false
    },
    async get(name) {
      return (await read(name))?.worker
    },
    async all() {
      const last = Number((await kv.get(slotsKey)) ?? 0)
      if (last === 0) return []
      const names = await kv.getMany(Array.from({ length: last }, (_, index) => slotKey(index + 1)))
      const listed = names.flatMap((name, index) => (name === null ? [] : [{ name, slot: index + 1 }]))
      if (listed.length === 0) return []
      const values = await kv.getMany(listed.map(({ name }) => workerKey(name)))
      return values
        .map(parse)
        .flatMap((entry, index) => (entry !== undefined && entry.slot === listed[index]?.slot ? [entry.worker] : []))
        .sort(byName)
    },
    async replace(worker) {
      if (!(await claim(worker))) return false
      const stored = await read(worker.record.name)
      if (stored?.worker.id !== worker.id || stored.worker.generation !== worker.generation - 1) return false
      return kv.set(workerKey(worker.record.name), JSON.stringify({ slot: stored.slot, worker } satisfies Entry))
    },
    async remove(worker) {
      const stored = await read(worker.record.name)
      if (stored?.worker.id !== worker.id) return false
      const removed = await kv.delete(workerKey(worker.record.name))
      await kv.delete(slotKey(stored.slot))
      return removed
    },
  }
}

function parse(text: string | null): Entry | undefined {
  return text === null ? undefined : (JSON.parse(text) as Entry)
}
