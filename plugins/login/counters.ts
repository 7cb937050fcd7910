import { type Clock, storeUnavailable } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** Counts events by key in windows that begin with the first one. */
export interface Counters {
  /** Counts one more and gives the sum. Atomic. */
  add(key: string, windowMs: number): Promise<number>
  /** The sums so far, by key, of those keys that have one; in one round trip. */
  sums(keys: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Time left of a window, in ms; the whole window when that is not known. */
  remaining(key: string, windowMs: number): Promise<number>
  clear(keys: readonly string[]): Promise<void>
  /** Drops what is over. */
  sweep(): void
}

/** Counters that all processes share. A store that fails is a 503: attempts that nobody counts are not taken. */
export function kvCounters(kv: () => Kv | undefined, clock: Clock): Counters {
  const ask = async <T>(question: (store: Kv) => Promise<T>): Promise<T> => {
    const store = kv()
    if (store === undefined) throw storeUnavailable(new Error('the plugin kv is disabled'))
    try {
      return await question(store)
    } catch (error) {
      throw storeUnavailable(error)
    }
  }
  return {
    add: (key, windowMs) =>
      ask(async (store) => {
        const count = await store.increment(key, { ttlMs: windowMs })
        if (count === 1) await store.set(`${key}:end`, String(clock.now() + windowMs), { ttlMs: windowMs })
        return count
      }),
    sums: (keys) =>
      ask(async (store) => {
        const values = await store.getMany(keys)
        return new Map(keys.flatMap((key, index) => (values[index] ? [[key, Number(values[index])] as const] : [])))
      }),
    remaining: (key, windowMs) =>
      ask(async (store) => {
        const end = Number(await store.get(`${key}:end`))
        return end > 0 ? Math.min(windowMs, Math.max(0, end - clock.now())) : windowMs
      }),
    clear: (keys) => ask(async (store) => void (await Promise.all(keys.flatMap((key) => [store.delete(key), store.delete(`${key}:end`)])))),
    sweep: () => undefined,
  }
}

const maxKeys = 50_000

/** Counters of one process; a restart forgets them. */
export function memoryCounters(clock: Clock): Counters {
  const windows = new Map<string, { count: number; readonly end: number }>()
  const live = (key: string): { count: number; readonly end: number } | undefined => {
    const window = windows.get(key)
    return window !== undefined && window.end > clock.now() ? window : undefined
  }
  return {
    async add(key, windowMs) {
      const window = live(key) ?? { count: 0, end: clock.now() + windowMs }
      window.count += 1
      // Set anew, it moves to the end: what is forgotten first is what was not tried for longest.
      windows.delete(key)
      windows.set(key, window)
      if (windows.size > maxKeys) windows.delete(windows.keys().next().value as string)
      return window.count
    },
    sums: async (keys) =>
      new Map(
        keys.flatMap((key) => {
          const window = live(key)
          return window === undefined ? [] : [[key, window.count] as const]
        }),
      ),
    remaining: async (key, windowMs) => Math.max(0, (live(key)?.end ?? clock.now() + windowMs) - clock.now()),
    async clear(keys) {
      for (const key of keys) windows.delete(key)
    },
    sweep: () => {
      for (const key of windows.keys()) if (live(key) === undefined) windows.delete(key)
    },
  }
}
