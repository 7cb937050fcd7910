import { KeyIndex, type Kv, updateKey } from 'zin/plugins/kv'
import type { StoredWorker, WorkerStore } from './contract.js'
import { pageOf } from './page.js'

/** The value of a removed worker, for a while: its name is free again. */
const removed = ''
const removedMs = 60_000

/**
 * Workers in any key-value store, shared by all processes of the app. For one that is not Redis: that has a store of its own.
 * Each has a key of its own, and one key lists them all. Every write names the value that it replaces.
 */
export function kvStore(kv: Kv, keyPrefix: string): WorkerStore {
  const workerKey = (name: string): string => `${keyPrefix}:workers:${name}`
  const index = new KeyIndex(() => kv, `${keyPrefix}:workers`)
  /** The workers as they were listed last, so that the next list is one round trip. */
  let known: readonly string[] = []

  const listed = async (): Promise<readonly StoredWorker[]> => {
    const [indexed, ...values] = await kv.getMany([index.key, ...known.map(workerKey)])
    const members = index.read(indexed)
    const names = [...new Set(members.values())]
    const read = new Map(known.map((name, position) => [name, values[position]]))
    const unread = names.filter((name) => !read.has(name))
    const others = unread.length === 0 ? [] : await kv.getMany(unread.map(workerKey))
    for (const [position, name] of unread.entries()) read.set(name, others[position])
    known = names
    return names.flatMap((name) => {
      const worker = workerOf(read.get(name))
      return worker !== undefined && members.has(worker.id) ? [worker] : []
    })
  }

  return {
    driver: 'kvstore',
    place: { keyPrefix },
    shared: true,
    async prepare() {},
    async insert(worker) {
      const { id, record } = worker
      await index.add(id, record.name)
      const next = { value: JSON.stringify(worker) }
      const written = await updateKey(kv, workerKey(record.name), (text) => (workerOf(text) === undefined ? next : undefined))
      if (written === undefined) await index.remove(id)
      return written !== undefined
    },
    async get(name) {
      return workerOf(await kv.get(workerKey(name)))
    },
    async page(query) {
      return pageOf(await listed(), query)
    },
    async all() {
      return pageOf(await listed(), { offset: 0, limit: Number.POSITIVE_INFINITY, inactive: true }).workers
    },
    async replace(worker) {
      const key = workerKey(worker.record.name)
      const text = await kv.get(key)
      if (text === null || !isBefore(workerOf(text), worker)) return false
      return kv.set(key, JSON.stringify(worker), { ifValue: text })
    },
    async remove({ id, record: { name } }) {
      const written = await updateKey(kv, workerKey(name), (text) =>
        workerOf(text)?.id === id ? { value: removed, ttlMs: removedMs } : undefined,
      )
      if (written !== undefined) await index.remove(id)
      return written !== undefined
    },
  }
}

function workerOf(text: string | null | undefined): StoredWorker | undefined {
  return text ? (JSON.parse(text) as StoredWorker) : undefined
}

/** Whether one generation of a worker comes right before another. */
function isBefore(stored: StoredWorker | undefined, next: StoredWorker): boolean {
  return stored?.id === next.id && stored.generation === next.generation - 1
}
