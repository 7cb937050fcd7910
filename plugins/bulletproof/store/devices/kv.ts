import { randomUUID } from 'node:crypto'
import { KeyIndex, type Kv, updateKey } from 'zin/plugins/kv'
import type { Pending } from '../../pending.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** The value of a device's key: the record and, while the device is active, its id in the index of its user. */
interface Stored extends DeviceRecord {
  readonly indexId?: string
}

interface Rewrite {
  readonly before: Stored
  readonly after: Stored
}

const deviceKey = (deviceId: string): string => `bulletproof:device:${deviceId}`
const seenKey = (deviceId: string): string => `bulletproof:seen:${deviceId}`

/**
 * Devices in the kv store. Each device, active or removed, has one key, which every write replaces by compare-and-set. The time a device
 * was last seen is in a separate key, and one key per user lists the active devices.
 */
export function kvDevices(kvNow: () => Kv, tombstoneMs: number): DeviceStore {
  const indexOf = (userId: string): KeyIndex => new KeyIndex(kvNow, `bulletproof:user:${userId}`)

  const addToIndex = async ({ userId, deviceId }: DeviceRecord): Promise<string> => {
    const id = randomUUID()
    await indexOf(userId).add(id, deviceId)
    return id
  }

  /** Returns undefined when nothing was changed. */
  const rewrite = async (deviceId: string, change: (stored: Stored) => Pending<Stored | undefined>): Promise<Rewrite | undefined> => {
    const updated = await updateKey(kvNow(), deviceKey(deviceId), async (text) => {
      const before = parse(text)
      const after = before && (await change(before))
      return after && { value: JSON.stringify(after), ...(after.removedAt === undefined ? {} : { ttlMs: tombstoneMs }) }
    })
    return updated && { before: JSON.parse(updated.before ?? '') as Stored, after: JSON.parse(updated.after) as Stored }
  }

  return {
    driver: 'kv',
    find: (deviceId) => ({
      keys: [deviceKey(deviceId)],
      read: ([text = null]) => recordOf(text),
    }),

    async insert(record) {
      const indexId = await addToIndex(record)
      const written = await kvNow().set(deviceKey(record.deviceId), JSON.stringify({ ...record, indexId }), { ifAbsent: true })
      if (!written) await indexOf(record.userId).remove(indexId)
      return written
    },

    async replace(record) {
      const { deviceId, userId, lastSeenAt } = record
      let added: string | undefined
      const done = await rewrite(deviceId, async (stored) => {
        if (stored.userId !== userId) return undefined
        if (stored.indexId === undefined) added ??= await addToIndex(record)
        return { ...record, indexId: stored.indexId ?? (added as string) }
      })
      if (added !== undefined && done?.after.indexId !== added) await indexOf(userId).remove(added)
      if (done !== undefined) await kvNow().set(seenKey(deviceId), String(lastSeenAt), { ttlMs: tombstoneMs })
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
      const index = indexOf(userId)
      const members = [...index.read(await kv.get(index.key))]
      if (members.length === 0) return []
      const values = await kv.getMany(members.flatMap(([, deviceId]) => [deviceKey(deviceId), seenKey(deviceId)]))
      return members.flatMap(([id], position) => {
        const [device = null, seen = null] = values.slice(position * 2, position * 2 + 2)
        const stored = parse(device)
        if (stored?.indexId !== id) return []
        const { indexId: _, ...record } = stored
        return [seen === null ? record : { ...record, lastSeenAt: Number(seen) }]
      })
    },

    async remove(deviceId, at) {
      const done = await rewrite(deviceId, ({ indexId: _, label: _label, ...stored }) =>
        stored.removedAt === undefined ? { ...stored, signingSecret: '', removedAt: at } : undefined,
      )
      if (done === undefined) return false
      // The key with the time it was last seen expires like the record.
      const { userId, indexId } = done.before
      if (indexId !== undefined) await indexOf(userId).remove(indexId)
      return true
    },

    async touch(deviceId, at) {
      await kvNow().set(seenKey(deviceId), String(at), { ttlMs: tombstoneMs })
    },

    // Removed devices expire.
    async sweep() {},
  }
}

function recordOf(text: string | null): DeviceRecord | undefined {
  const stored = parse(text)
  if (stored === undefined) return undefined
  const { indexId: _, ...record } = stored
  return record
}

function parse(text: string | null): Stored | undefined {
  return text === null ? undefined : (JSON.parse(text) as Stored)
}
