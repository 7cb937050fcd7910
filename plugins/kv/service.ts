import type { Clock } from 'zin'
import type { Kv } from './contract.js'
import { kvErrors } from './errors.js'
import type { KvStore } from './store/contract.js'
import { isKvUnavailable } from './store/redis.js'

/** The service as other plugins see it: available from setup on, usable from start to stop. */
export interface OwnedKv extends Kv {
  open(store: KvStore): void
  sweep(): Promise<void>
  close(): Promise<void>
}

const birthKey = 'since'

/** The options with a TTL in whole ms, which every backend can store. Throws KV_TTL_INVALID. */
function withLife<Options extends { readonly ttlMs?: number }>(
  key: string,
  options: Options | undefined,
  now: number,
): Options | undefined {
  if (options?.ttlMs === undefined) return options
  const ttlMs = Math.ceil(options.ttlMs)
  if (!(ttlMs > 0 && Number.isSafeInteger(now + ttlMs))) throw kvErrors.KV_TTL_INVALID(key, options.ttlMs)
  return { ...options, ttlMs }
}

export function createKv(driver: Kv['driver'], clock: Clock): OwnedKv {
  let store: KvStore | undefined
  const tally: Kv['tally'] = (key, options) =>
    use(async (store) => {
      if (!Number.isSafeInteger(options?.by ?? 1)) throw kvErrors.KV_NOT_A_NUMBER(key, `by (${options?.by})`)
      return store.tally(key, withLife(key, options, clock.now()))
    })
  const use = <T>(call: (store: KvStore) => Promise<T>): Promise<T> =>
    store === undefined ? Promise.reject(kvErrors.KV_NOT_STARTED()) : call(store)
  return {
    driver,
    get redis() {
      return store?.redis
    },
    get: (key) => use((store) => store.get(key)),
    getMany: (keys) => use((store) => store.getMany(keys)),
    set: (key, value, options) => use(async (store) => store.set(key, value, withLife(key, options, clock.now()))),
    delete: (key) => use((store) => store.delete(key)),
    increment: async (key, options) => (await tally(key, options)).sum,
    tally,
    birthKey,
    birth: () =>
      use(async (store) => {
        const known = Number(await store.get(birthKey))
        if (known > 0) return known
        const now = clock.now()
        await store.set(birthKey, String(now), { ifAbsent: true })
        return Number(await store.get(birthKey)) || now
      }),
    ping: (signal) => use((store) => store.ping(signal)),
    isUnavailable: (error) => store?.isUnavailable(error) ?? isKvUnavailable(error),
    open(made) {
      store = made
    },
    sweep: async () => store?.sweep(),
    async close() {
      const closing = store
      store = undefined
      await closing?.close()
    },
  }
}
