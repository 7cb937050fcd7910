import type { Kv } from 'zin/plugins/kv'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** Places for device ids per user. More than a user may have, so that a free one is always found. */
const SLOTS = 128

/** What is written under a device's key: the record, and the user's slot that points to it. */
interface Stored extends DeviceRecord {
  readonly slot: number
}

const deviceKey = (deviceId: string): string => `bulletproof:device:${deviceId}`
const removedKey = (deviceId: string): string => `bulletproof:removed:${deviceId}`
const pinnedKey = (deviceId: string): string => `bulletproof:pinned:${deviceId}`
const seenKey = (deviceId: string): string => `bulletproof:seen:${deviceId}`
const slotKey = (userId: string, slot: number): string => `bulletproof:user:${userId}:${slot}`

/**
 * Devices in the kv store. A device in use, its removal, its pin and its last use are keys of their own, so that no write can
 * undo another: a removal outweighs a record, and so does a pin. The devices of a user are found through a ring of slots.
 */
export function kvDevices(kvNow: () => Kv, tombstoneMs: number): DeviceStore {
  const takeSlot = async ({ userId, deviceId }: DeviceRecord): Promise<number> => {
    const kv = kvNow()
    const first = await kv.increment(`bulletproof:user:${userId}:next`)
    for (let step = 0; step < SLOTS; step += 1) {
      const slot = (first + step) % SLOTS
      if (await kv.set(slotKey(userId, slot), deviceId, { ifAbsent: true })) return slot
    }
    throw new Error(`all ${SLOTS} device slots of the user are taken`)
  }
  const load = async (deviceId: string): Promise<Stored | undefined> => parse(await kvNow().get(deviceKey(deviceId)))

  return {
    driver: 'kv',
    find: (deviceId) => ({
      keys: [deviceKey(deviceId), removedKey(deviceId), pinnedKey(deviceId)],
      read: ([device = null, removed = null, pinned = null]) => recordOf(removed ?? device, pinned),
    }),

    async insert(record) {
      const kv = kvNow()
      if ((await kv.get(removedKey(record.deviceId))) !== null) return false
      const slot = await takeSlot(record)
      const written = await kv.set(deviceKey(record.deviceId), JSON.stringify({ ...record, slot }), { ifAbsent: true })
      await kv.delete(written ? pinnedKey(record.deviceId) : slotKey(record.userId, slot))
      return written
    },

    async replace(record) {
      const kv = kvNow()
      const slot = (await load(record.deviceId))?.slot ?? (await takeSlot(record))
      await kv.set(deviceKey(record.deviceId), JSON.stringify({ ...record, slot }))
      await kv.set(seenKey(record.deviceId), String(record.lastSeenAt))
      await kv.delete(pinnedKey(record.deviceId))
      await kv.delete(removedKey(record.deviceId))
    },

    // The kv has no compare-and-set: a login of this very device in the same instant could be written over, and is repeated by its user.
    async reseal(deviceId, before, after) {
      const stored = await load(deviceId)
      if (stored?.signingSecret === before) await kvNow().set(deviceKey(deviceId), JSON.stringify({ ...stored, signingSecret: after }))
    },

    // A login of this very device in the same instant could be pinned with it, and is repeated by its user.
    async pin(deviceId) {
      await kvNow().set(pinnedKey(deviceId), '1')
    },

    async list(userId) {
      const kv = kvNow()
      const slots = Array.from({ length: SLOTS }, (_, slot) => slotKey(userId, slot))
      const ids = (await kv.getMany(slots)).filter((id): id is string => id !== null)
      if (ids.length === 0) return []
      const values = await kv.getMany(ids.flatMap((id) => [deviceKey(id), removedKey(id), pinnedKey(id), seenKey(id)]))
      return ids.flatMap((_, index) => {
        const [device = null, removed = null, pinned = null, seen = null] = values.slice(index * 4, index * 4 + 4)
        const record = removed === null ? recordOf(device, pinned) : undefined
        return record === undefined ? [] : [seen === null ? record : { ...record, lastSeenAt: Number(seen) }]
      })
    },

    async remove(deviceId, at) {
      const kv = kvNow()
      const stored = await load(deviceId)
      if (stored === undefined) return false
      const { slot, ...record } = stored
      const tombstone = { ...record, signingSecret: '', removedAt: at }
      const first = await kv.set(removedKey(deviceId), JSON.stringify(tombstone), { ttlMs: tombstoneMs, ifAbsent: true })
      await kv.delete(deviceKey(deviceId))
      await kv.delete(seenKey(deviceId))
      await kv.delete(pinnedKey(deviceId))
      await kv.delete(slotKey(record.userId, slot))
      return first
    },

    async touch(deviceId, at) {
      await kvNow().set(seenKey(deviceId), String(at), { ttlMs: tombstoneMs })
    },

    // Removals have a life of their own.
    async sweep() {},
  }
}

function recordOf(text: string | null, pinned: string | null): DeviceRecord | undefined {
  const stored = parse(text)
  if (stored === undefined) return undefined
  const { slot: _, ...record } = stored
  return pinned === null ? record : { ...record, profile: 'rfc9421' }
}

function parse(text: string | null): Stored | undefined {
  return text === null ? undefined : (JSON.parse(text) as Stored)
}
