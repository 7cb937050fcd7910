import { ownLookup } from '../lookup.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

/** Devices in the memory of one process, lost when it ends. */
export function memoryDevices(): DeviceStore {
  const records = new Map<string, DeviceRecord>()
  const users = new Map<string, Set<string>>()

  const write = (record: DeviceRecord): void => {
    records.set(record.deviceId, record)
    const own = users.get(record.userId) ?? new Set()
    users.set(record.userId, own.add(record.deviceId))
  }
  const patch = (deviceId: string, change: Partial<DeviceRecord>): void => {
    const record = records.get(deviceId)
    if (record !== undefined) records.set(deviceId, { ...record, ...change })
  }
  const forget = ({ deviceId, userId }: DeviceRecord): void => {
    records.delete(deviceId)
    const own = users.get(userId)
    own?.delete(deviceId)
    if (own?.size === 0) users.delete(userId)
  }

  return {
    driver: 'memory',
    find: (deviceId) => ownLookup(() => records.get(deviceId)),
    async insert(record) {
      if (records.has(record.deviceId)) return false
      write(record)
      return true
    },
    async replace(record) {
      if (records.get(record.deviceId)?.userId !== record.userId) return false
      write(record)
      return true
    },
    async reseal(deviceId, before, after) {
      if (records.get(deviceId)?.signingSecret === before) patch(deviceId, { signingSecret: after })
    },
    async pin(deviceId) {
      patch(deviceId, { profile: 'rfc9421' })
    },
    async list(userId) {
      const own = [...(users.get(userId) ?? [])].map((id) => records.get(id))
      return own.filter((record): record is DeviceRecord => record !== undefined && record.removedAt === undefined)
    },
    async remove(deviceId, at) {
      const record = records.get(deviceId)
      if (record === undefined || record.removedAt !== undefined) return false
      const { label: _, ...kept } = record
      records.set(deviceId, { ...kept, signingSecret: '', removedAt: at })
      return true
    },
    async touch(deviceId, at) {
      patch(deviceId, { lastSeenAt: at })
    },
    async sweep(at) {
      for (const record of records.values()) if (record.removedAt !== undefined && record.removedAt < at) forget(record)
    },
  }
}
