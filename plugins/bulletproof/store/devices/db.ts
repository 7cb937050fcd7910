import type { Database } from 'zin/plugins/database'
import { ownLookup } from '../lookup.js'
import type { DeviceRecord, DeviceStore } from './contract.js'

interface DeviceRow {
  readonly device_id: string
  readonly user_id: string
  readonly signing_secret: string
  readonly profile: string
  readonly label: string | null
  readonly created_at: number
  readonly last_seen_at: number
  readonly removed_at: number | null
}

const TABLE = 'bulletproof_devices'

/** Devices in the table `bulletproof_devices`. */
export function dbDevices(databaseNow: () => Database): DeviceStore {
  const tables = () => databaseNow().tables<{ [TABLE]: DeviceRow }>()

  return {
    driver: 'db',
    find: (deviceId) =>
      ownLookup(async () => {
        const row = await tables().selectFrom(TABLE).selectAll().where('device_id', '=', deviceId).executeTakeFirst()
        return row === undefined || row.device_id !== deviceId ? undefined : recordOf(row)
      }),

    insert: (record) => databaseNow().insertIfAbsent(TABLE, ['device_id'], { ...rowOf(record) }),

    async replace(record) {
      const { device_id, user_id, ...columns } = rowOf(record)
      const result = await tables()
        .updateTable(TABLE)
        .set(columns)
        .where('device_id', '=', device_id)
        .where('user_id', '=', user_id)
        .executeTakeFirst()
      return result.numUpdatedRows > 0n
    },

    async reseal(deviceId, before, after) {
      await tables()
        .updateTable(TABLE)
        .set({ signing_secret: after })
        .where('device_id', '=', deviceId)
        .where('signing_secret', '=', before)
        .execute()
    },

    async pin(deviceId) {
      await tables()
        .updateTable(TABLE)
        .set({ profile: 'rfc9421' })
        .where('device_id', '=', deviceId)
        .where('removed_at', 'is', null)
        .execute()
    },

    async list(userId) {
      const rows = await tables().selectFrom(TABLE).selectAll().where('user_id', '=', userId).where('removed_at', 'is', null).execute()
      return rows.filter((row) => row.user_id === userId).map(recordOf)
    },

    async remove(deviceId, at) {
      const result = await tables()
        .updateTable(TABLE)
        .set({ signing_secret: '', label: null, removed_at: at })
        .where('device_id', '=', deviceId)
        .where('removed_at', 'is', null)
        .executeTakeFirst()
      return Number(result.numUpdatedRows) > 0
    },

    async touch(deviceId, at) {
      await tables().updateTable(TABLE).set({ last_seen_at: at }).where('device_id', '=', deviceId).execute()
    },

    async sweep(at) {
      await tables().deleteFrom(TABLE).where('removed_at', '<', at).execute()
    },
  }
}

function rowOf(record: DeviceRecord): DeviceRow {
  return {
    device_id: record.deviceId,
    user_id: record.userId,
    signing_secret: record.signingSecret,
    profile: record.profile,
    label: record.label ?? null,
    created_at: record.createdAt,
    last_seen_at: record.lastSeenAt,
    removed_at: record.removedAt ?? null,
  }
}

/** An unknown profile must not fall back to a weaker one: the record then has no usable secret. */
function recordOf(row: DeviceRow): DeviceRecord {
  return {
    deviceId: row.device_id,
    userId: row.user_id,
    signingSecret: row.profile === 'v1' || row.profile === 'rfc9421' ? row.signing_secret : '',
    profile: row.profile === 'v1' ? 'v1' : 'rfc9421',
    createdAt: Number(row.created_at),
    lastSeenAt: Number(row.last_seen_at),
    ...(row.label === null ? {} : { label: row.label }),
    ...(row.removed_at === null ? {} : { removedAt: Number(row.removed_at) }),
  }
}
