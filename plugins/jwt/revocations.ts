import { type Clock, storeUnavailable } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** Where revocations are kept: text by key, each with a life. */
export interface Revocations {
  /** Key of the kv that holds since when it remembers; `undefined` when revocations are kept in this process. */
  readonly birthKey: string | undefined
  /** Since when revocations are remembered, ms since 1970. */
  birth(): Promise<number>
  /** Values in this process; `undefined` when they are in the kv. */
  local(keys: readonly string[]): readonly (string | null)[] | undefined
  read(keys: readonly string[]): Promise<readonly (string | null)[]>
  write(key: string, value: string, ttlMs: number): Promise<void>
  /** Drops what has expired. */
  sweep(): void
}

/** Revocations that every process of the app sees. A store that fails or is gone is a 503, whatever the cause: never a yes. */
export function kvRevocations(kv: () => Kv | undefined, birthKey: string): Revocations {
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
    birthKey,
    birth: () => ask((store) => store.birth()),
    local: () => undefined,
    read: (keys) => ask((store) => store.getMany(keys)),
    write: async (key, value, ttlMs) => void (await ask((store) => store.set(key, value, { ttlMs }))),
    sweep: () => undefined,
  }
}

/** Revocations of one process; a restart forgets them. */
export function memoryRevocations(clock: Clock): Revocations {
  const entries = new Map<string, { readonly value: string; readonly until: number }>()
  const get = (key: string): string | null => {
    const entry = entries.get(key)
    return entry !== undefined && entry.until > clock.now() ? entry.value : null
  }
  return {
    birthKey: undefined,
    birth: async () => 0,
    local: (keys) => keys.map(get),
    read: async (keys) => keys.map(get),
    write: async (key, value, ttlMs) => {
      entries.set(key, { value, until: clock.now() + ttlMs })
    },
    sweep: () => {
      for (const [key, { until }] of entries) if (until <= clock.now()) entries.delete(key)
    },
  }
}
