import type { Kv } from 'zin/plugins/kv'
import type { Pending } from '../../pending.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** Places for device ids per user. More than a user may have, so that a free one is always found. */
const SLOTS = 128

/** What is written under a device's key: the record, and, while it is in use, the user's slot that points to it. */
interface Stored extends DeviceRecord {
  readonly slot?: number
}

interface Rewrite {
  readonly before: Stored
  readonly after: Stored
}

const deviceKey = (deviceId: string): string => `bulletproof:device:${deviceId}`
const seenKey = (deviceId: string): string => `bulletproof:seen:${deviceId}`
const slotKey = (userId: string, slot: number): string => `bulletproof:user:${userId}:${slot}`

/**
 * Devices in the kv store: one key for each, in use or removed, which is written over only by who has read what it holds, so
 * that no write undoes another. Their last use is a key of its own. The devices of a user are found through a ring of slots.
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

  /** Changes what a device holds, anew when another write came first. `undefined` when there is nothing to change. */
  const rewrite = async (deviceId: string, change: (stored: Stored) => Pending<Stored | undefined>): Promise<Rewrite | undefined> => {
    const kv = kvNow()
    for (;;) {
      const text = await kv.get(deviceKey(deviceId))
      const before = parse(text)
      const after = before && (await change(before))
      if (text === null || before === undefined || after === undefined) return undefined
      const life = after.removedAt === undefined ? {} : { ttlMs: tombstoneMs }
      if (await kv.set(deviceKey(deviceId), JSON.stringify(after), { ifValue: text, ...life })) return { before, after }
    }
  }

  return {
    driver: 'kv',
    find: (deviceId) => ({
      keys: [deviceKey(deviceId)],
      read: ([text = null]) => recordOf(text),
    }),

    async insert(record) {
      const kv = kvNow()
      const slot = await takeSlot(record)
      const written = await kv.set(deviceKey(record.deviceId), JSON.stringify({ ...record, slot }), { ifAbsent: true })
      if (!written) await kv.delete(slotKey(record.userId, slot))
      return written
    },

    async replace(record) {
      const kv = kvNow()
      const { deviceId, userId } = record
      let taken: number | undefined
      const slotOf = async ({ slot }: Stored): Promise<number> => {
        if (slot === undefined) taken ??= await takeSlot(record)
        return slot ?? (taken as number)
      }
      const done = await rewrite(deviceId, async (stored) =>
        stored.userId === userId ? { ...record, slot: await slotOf(stored) } : undefined,
      )
      if (taken !== undefined && done?.after.slot !== taken) await kv.delete(slotKey(userId, taken))
      if (done !== undefined) await kv.set(seenKey(deviceId), String(record.lastSeenAt))
      return done !== undefined
    },

    async reseal(deviceId, before, after) {
      await rewrite(deviceId, (stored) => (stored.signingSecret === before ? { ...stored, signingSecret: after } : undefined))
    },

    async pin(deviceId) {
      await rewrite(deviceId, (stored) =>
        stored.removedAt === undefined && stored.profile === 'v1' ? { ...stored, profile: 'rfc9421' } : undefined,
      )
    },

    async list(userId) {
      const kv = kvNow()
      const slots = Array.from({ length: SLOTS }, (_, slot) => slotKey(userId, slot))
      const ids = (await kv.getMany(slots)).filter((id): id is string => id !== null)
      if (ids.length === 0) return []
      const values = await kv.getMany(ids.flatMap((id) => [deviceKey(id), seenKey(id)]))
      return ids.flatMap((_, index) => {
        const [device = null, seen = null] = values.slice(index * 2, index * 2 + 2)
        const record = recordOf(device)
        if (record === undefined || record.removedAt !== undefined || record.userId !== userId) return []
        return [seen === null ? record : { ...record, lastSeenAt: Number(seen) }]
      })
    },

    async remove(deviceId, at) {
      const kv = kvNow()
      const done = await rewrite(deviceId, ({ slot: _, ...stored }) =>
        stored.removedAt === undefined ? { ...stored, signingSecret: '', removedAt: at } : undefined,
      )
      if (done === undefined) return false
      await kv.delete(seenKey(deviceId))
      const { userId, slot } = done.before
      if (slot !== undefined) await kv.delete(slotKey(userId, slot))
      return true
    },

    async touch(deviceId, at) {
      await kvNow().set(seenKey(deviceId), String(at), { ttlMs: tombstoneMs })
    },

    // Removals have a life of their own.
    async sweep() {},
  }
}

function recordOf(text: string | null): DeviceRecord | undefined {
  const stored = parse(text)
  if (stored === undefined) return undefined
  const { slot: _, ...record } = stored
  return record
}

function parse(text: string | null): Stored | undefined {
  return text === null ? undefined : (JSON.parse(text) as Stored)
}
