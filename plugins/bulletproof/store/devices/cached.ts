import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { readOne } from '../lookup.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** How long a record is believed, in ms, should word of a change be lost. */
const LIFE = 60_000
/** Records of devices and, separately, ids that match no device, so that invented ids do not evict devices. */
const MAX_KNOWN = 10_000
const MAX_ABSENT = 1_000

const changedKey = (deviceId: string): string => `bulletproof:changed:${deviceId}`

interface Entry {
  readonly record: DeviceRecord | undefined
  /** What the kv said of the last change, and since when it remembers changes, when the record was read. */
  readonly mark: string | null
  readonly birth: string | null
  readonly until: number
}

/**
 * Keeps records that were read, and asks the kv whether they changed: that question travels with the others of a request, and
 * the store behind is read on a miss only. A kv that was emptied forgot
 * changes, so nothing that was read before counts. Every process knows of a change as soon as the call that made it has returned.
 */
export function cachedDevices(store: DeviceStore, kvNow: () => Kv, clock: Clock): DeviceStore {
  const known = new LRUCache<string, Entry>({ max: MAX_KNOWN })
  const absent = new LRUCache<string, Entry>({ max: MAX_ABSENT })

  /** The mark outlives every entry that was made before it. It comes after the write: an entry made in between gets another. */
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
    // Also for a device that is not in use: an earlier call may have ended it and died before it could say so.
    async remove(deviceId, at) {
      const removed = await store.remove(deviceId, at)
      await changed(deviceId)
      return removed
    },
  }
}
