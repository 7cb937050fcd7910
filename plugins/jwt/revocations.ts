import { type Clock, storeUnavailable } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** The revocation store: strings by key, each with a TTL. */
export interface Revocations {
  /** `birthKey` of the kv; `undefined` when revocations are kept in this process. */
  readonly birthKey: string | undefined
  /** Since when the store has kept revocations, ms since 1970. */
  birth(): Promise<number>
  /** Values in this process; `undefined` when they are in the kv. */
  local(keys: readonly string[]): readonly (string | null)[] | undefined
  read(keys: readonly string[]): Promise<readonly (string | null)[]>
  write(key: string, value: string, ttlMs: number): Promise<void>
  /** Deletes expired entries. */
  sweep(): void
}

/** Revocations shared by all processes of the app. A store that fails or is disabled causes a 503, so no token is accepted. */
export function kvRevocations(kv: () => Kv | undefined, birthKey: string): Revocations {
  const query = async <T>(read: (store: Kv) => Promise<T>): Promise<T> => {
    const store = kv()
    if (store === undefined) throw storeUnavailable(new Error('the plugin kv is disabled'))
    try {
      return await read(store)
    } catch (error) {
      throw storeUnavailable(error)
    }
  }
  return {
    birthKey,
    birth: () => query((store) => store.birth()),
    local: () => undefined,
    read: (keys) => query((store) => store.getMany(keys)),
    write: async (key, value, ttlMs) => void (await query((store) => store.set(key, value, { ttlMs }))),
    sweep: () => undefined,
  }
}

/** Revocations of one process, lost on restart. */
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
