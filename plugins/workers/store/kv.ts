import { KeyIndex, type Kv, updateKey } from 'zin/plugins/kv'
import type { StoredWorker, WorkerStore } from './contract.js'
import { pageOf } from './page.js'

/** The value of a removed worker, which expires after a minute. Its name is free again. */
const removed = ''
const removedMs = 60_000

/**
 * Opens a store in any key-value store, shared by all processes of the app; for Redis, use {@link redisStore}. Each worker has its own
 * key, and one key lists them all. Every write is a compare-and-set.
 */
export function kvStore(kv: Kv, keyPrefix: string): WorkerStore {
  const workerKey = (name: string): string => `${keyPrefix}:workers:${name}`
  const index = new KeyIndex(() => kv, `${keyPrefix}:workers`)
  /** The names of the last list, so that the next list takes one round trip. */
  let known: readonly string[] = []

  const listed = async (): Promise<readonly StoredWorker[]> => {
    // Another list may replace `known` in the meantime.
    const requested = known
    const [indexed, ...values] = await kv.getMany([index.key, ...requested.map(workerKey)])
    const members = index.read(indexed)
    const names = [...new Set(members.values())]
    const read = new Map(requested.map((name, position) => [name, values[position]]))
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
      // A rejected write may have been applied. Its id stays in the index: a stale id is ignored, but a missing one would hide the worker.
      let uncertain = false
      const watched: Pick<Kv, 'get' | 'set'> = {
        get: (key) => kv.get(key),
        async set(...write) {
          uncertain = true
          const done = await kv.set(...write)
          uncertain = false
          return done
        },
      }
      const change = (text: string | null) => (workerOf(text) === undefined ? next : undefined)
      const written = await updateKey(watched, workerKey(record.name), change).catch(async (error: unknown) => {
        if (!uncertain) await index.remove(id).catch(() => undefined)
        throw error
      })
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

/** Whether `stored` is the previous generation of `next`. */
function isBefore(stored: StoredWorker | undefined, next: StoredWorker): boolean {
  return stored?.id === next.id && stored.generation === next.generation - 1
}
