import { type Clock, storeUnavailable } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** Counts events by key in windows that start with the first event. */
export interface Counters {
  /** Increments and returns the count. Atomic. */
  add(key: string, windowMs: number): Promise<number>
  /** Sets the count to 1 and restarts the window. */
  mark(key: string, windowMs: number): Promise<void>
  /** The current counts by key, without the keys that have none; in one round trip. */
  sums(keys: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Time left in a window, in ms; the whole window when unknown. */
  remaining(key: string, windowMs: number): Promise<number>
  clear(keys: readonly string[]): Promise<void>
  /** Deletes expired entries. */
  sweep(): void
}

/** Runs queries; a kv that fails or is disabled causes a 503. */
export function queryKv(kv: () => Kv | undefined): <T>(run: (store: Kv) => Promise<T>) => Promise<T> {
  return async (run) => {
    const store = kv()
    if (store === undefined) throw storeUnavailable(new Error('the plugin kv is disabled'))
    try {
      return await run(store)
    } catch (error) {
      throw storeUnavailable(error)
    }
  }
}

/** Counters shared by all processes. A failing store causes a 503, so that no attempt goes uncounted. */
export function kvCounters(kv: () => Kv | undefined, clock: Clock): Counters {
  const query = queryKv(kv)
  return {
    add: (key, windowMs) =>
      query(async (store) => {
        const count = await store.increment(key, { ttlMs: windowMs })
        if (count === 1) await store.set(`${key}:end`, String(clock.now() + windowMs), { ttlMs: windowMs })
        return count
      }),
    mark: (key, windowMs) => query(async (store) => void (await store.set(key, '1', { ttlMs: windowMs }))),
    sums: (keys) =>
      query(async (store) => {
        const values = await store.getMany(keys)
        return new Map(keys.flatMap((key, index) => (values[index] ? [[key, Number(values[index])] as const] : [])))
      }),
    remaining: (key, windowMs) =>
      query(async (store) => {
        const end = Number(await store.get(`${key}:end`))
        return end > 0 ? Math.min(windowMs, Math.max(0, end - clock.now())) : windowMs
      }),
    clear: (keys) =>
      query(async (store) => void (await Promise.all(keys.flatMap((key) => [store.delete(key), store.delete(`${key}:end`)])))),
    sweep: () => undefined,
  }
}

const maxKeys = 50_000

/** Counters of one process, lost on restart. */
export function memoryCounters(clock: Clock): Counters {
  const windows = new Map<string, { count: number; readonly end: number }>()
  const live = (key: string): { count: number; readonly end: number } | undefined => {
    const window = windows.get(key)
    return window !== undefined && window.end > clock.monotonic() ? window : undefined
  }
  const keep = (key: string, window: { count: number; readonly end: number }): void => {
    // Setting it again moves it to the end, so that the least recently used key is evicted first.
    windows.delete(key)
    windows.set(key, window)
    if (windows.size > maxKeys) windows.delete(windows.keys().next().value as string)
  }
  return {
    async add(key, windowMs) {
      const window = live(key) ?? { count: 0, end: clock.monotonic() + windowMs }
      window.count += 1
      keep(key, window)
      return window.count
    },
    async mark(key, windowMs) {
      keep(key, { count: 1, end: clock.monotonic() + windowMs })
    },
    sums: async (keys) =>
      new Map(
        keys.flatMap((key) => {
          const window = live(key)
          return window === undefined ? [] : [[key, window.count] as const]
        }),
      ),
    remaining: async (key, windowMs) => Math.max(0, (live(key)?.end ?? clock.monotonic() + windowMs) - clock.monotonic()),
    async clear(keys) {
      for (const key of keys) windows.delete(key)
    },
    sweep: () => {
      for (const key of windows.keys()) if (live(key) === undefined) windows.delete(key)
    },
  }
}
