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

export function createKv(driver: Kv['driver'], clock: Clock): OwnedKv {
  let store: KvStore | undefined
  const opened = (): KvStore => {
    if (!store) throw kvErrors.KV_NOT_STARTED()
    return store
  }
  return {
    driver,
    get redis() {
      return store?.redis
    },
    get: async (key) => opened().get(key),
    getMany: async (keys) => opened().getMany(keys),
    set: async (key, value, options) => opened().set(key, value, options),
    delete: async (key) => opened().delete(key),
    increment: async (key, options) => opened().increment(key, options),
    birthKey,
    async birth() {
      const store = opened()
      const known = Number(await store.get(birthKey))
      if (known > 0) return known
      const now = clock.now()
      await store.set(birthKey, String(now), { ifAbsent: true })
      return Number(await store.get(birthKey)) || now
    },
    ping: async (signal) => opened().ping(signal),
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
