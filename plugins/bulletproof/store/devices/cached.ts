import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { readOne } from '../lookup.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** How long a cached record is used, in ms; bounds the error when the mark of a change is lost. */
const LIFE = 60_000
/** Records of devices and, separately, ids that match no device, so that invented ids do not evict devices. */
const MAX_KNOWN = 10_000
const MAX_ABSENT = 1_000

const changedKey = (deviceId: string): string => `bulletproof:changed:${deviceId}`

interface Entry {
  readonly record: DeviceRecord | undefined
  /** The mark of the last change and the birth of the kv, when the record was read. */
  readonly mark: string | null
  readonly birth: string | null
  readonly until: number
}

/**
 * Caches the records of a store, with a mark of the last change of each in the kv. The marks are read in the same round trip as the other
 * keys of a request, and the store is read only on a miss. A flush of the kv loses marks, so it invalidates all cached records. A change is
 * visible in every process once the call that made it has returned.
 */
export function cachedDevices(store: DeviceStore, kvNow: () => Kv, clock: Clock): DeviceStore {
  const known = new LRUCache<string, Entry>({ max: MAX_KNOWN })
  const absent = new LRUCache<string, Entry>({ max: MAX_ABSENT })

  /** Sets a new mark, which outlives every cached entry. It is set after the write, so that an entry cached in between becomes invalid. */
  const changed = async (deviceId: string): Promise<void> => {
    for (const cache of [known, absent]) cache.delete(deviceId)
    await kvNow().set(changedKey(deviceId), randomUUID(), { ttlMs: 2 * LIFE })
  }
  const read = async (deviceId: string, birth: string | null, mark: string | null): Promise<DeviceRecord | undefined> => {
    const until = clock.monotonic() + LIFE
    const record = await readOne(kvNow(), store.find(deviceId))
    const [cache, other] = record === undefined ? [absent, known] : [known, absent]
    other.delete(deviceId)
    cache.set(deviceId, { record, mark, birth, until })
    return record
  }

  return {
    ...store,
    find: (deviceId) => ({
      keys: [kvNow().birthKey, changedKey(deviceId)],
      read: ([birth = null, mark = null]) => {
        const entry = known.get(deviceId) ?? absent.get(deviceId)
        const unchanged = birth !== null && entry?.birth === birth && entry.mark === mark
        return unchanged && entry.until > clock.monotonic() ? entry.record : read(deviceId, birth, mark)
      },
    }),
    async insert(record) {
      const inserted = await store.insert(record)
      await changed(record.deviceId)
      return inserted
    },
    async replace(record) {
      const replaced = await store.replace(record)
      await changed(record.deviceId)
      return replaced
    },
    async reseal(deviceId, before, after) {
      await store.reseal(deviceId, before, after)
      await changed(deviceId)
    },
    async pin(deviceId) {
      await store.pin(deviceId)
      await changed(deviceId)
    },
    // Also marks a device that is not active: an earlier call may have removed it and failed before setting the mark.
    async remove(deviceId, at) {
      const removed = await store.remove(deviceId, at)
      await changed(deviceId)
      return removed
    },
  }
}
