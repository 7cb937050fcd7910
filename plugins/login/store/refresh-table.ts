import type { Database } from 'zin/plugins/database'
import { endFamily, type RefreshFamily, type RefreshStore } from './refresh.js'
import type { Query } from './users.js'

interface Row {
  readonly device_id: string
  readonly user_id: string
  readonly family: string
  readonly hash: string
  readonly claims: string
  readonly issued: string
  readonly expires_at: number
  readonly ends_at: number
}

const TABLE = 'zin_refresh_tokens'

export interface TableFamilies extends RefreshStore {
  /** The families of a user, also of removed devices. */
  ofUser(userId: string): Promise<readonly RefreshFamily[]>
}

/** Families in the table `zin_refresh_tokens`. */
export function tableFamilies(query: Query): TableFamilies {
  const tables = (store: Database) => store.tables<{ [TABLE]: Row }>()
  const find: RefreshStore['find'] = (deviceId) =>
    query(async (store) => {
      const row = await tables(store).selectFrom(TABLE).selectAll().where('device_id', '=', deviceId).executeTakeFirst()
      return row?.device_id === deviceId ? familyOf(row) : undefined
    })
  /** @param hash of the newest token; without it, whatever it is. */
  const remove = ({ deviceId, family }: RefreshFamily, hash?: string): Promise<boolean> =>
    query(async (store) => {
      const rows = tables(store).deleteFrom(TABLE).where('device_id', '=', deviceId).where('family', '=', family)
      const result = await (hash === undefined ? rows : rows.where('hash', '=', hash)).executeTakeFirst()
      return result.numDeletedRows === 1n
    })
  return {
    find,
    put: (family) => query((store) => store.upsert(TABLE, ['device_id'], { ...rowOf(family) })),
    rotate: (before, after) =>
      query(async (store) => {
        const { device_id, ...columns } = rowOf(after)
        const result = await tables(store)
          .updateTable(TABLE)
          .set(columns)
          .where('device_id', '=', device_id)
          .where('family', '=', before.family)
          .where('hash', '=', before.hash)
          .executeTakeFirst()
        return result.numUpdatedRows === 1n
      }),
    end: ({ deviceId, family }) =>
      endFamily(
        () => find(deviceId),
        family,
        (known) => remove(known, known.hash),
        (known) => remove(known),
      ),
    ofUser: (userId) =>
      query(async (store) => {
        const rows = await tables(store).selectFrom(TABLE).selectAll().where('user_id', '=', userId).execute()
        return rows.filter((row) => row.user_id === userId).map(familyOf)
      }),
    endUser: (userId) => query(async (store) => void (await tables(store).deleteFrom(TABLE).where('user_id', '=', userId).execute())),
    sweep: (now) => query(async (store) => void (await tables(store).deleteFrom(TABLE).where('expires_at', '<', now).execute())),
  }
}

function rowOf({ deviceId, userId, family, hash, claims, issued, expiresAt, endsAt }: RefreshFamily): Row {
  return {
    device_id: deviceId,
    user_id: userId,
    family,
    hash,
    claims: JSON.stringify(claims),
    issued: JSON.stringify(issued),
    expires_at: expiresAt,
    ends_at: endsAt,
  }
}

function familyOf(row: Row): RefreshFamily {
  return {
    deviceId: row.device_id,
    userId: row.user_id,
    family: row.family,
    hash: row.hash,
    claims: JSON.parse(row.claims),
    issued: JSON.parse(row.issued),
    expiresAt: Number(row.expires_at),
    endsAt: Number(row.ends_at),
  }
}
