import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { Clock } from 'zin'
import { type Database, deleteBefore, maxParameters } from 'zin/plugins/database'
import { sha256Hex } from 'zin/signing'
import type { Tally } from '../contract.js'
import { kvErrors } from '../errors.js'
import type { KvStore } from './contract.js'
import { isKvUnavailable } from './redis.js'

interface KvTables {
  readonly zin_kv: {
    /** SHA-256 of the key: one length for any key, and compared exactly whatever the collation of the server. */
    readonly id: string
    /** The key itself, by which it can be moved to another store; null if a version wrote it that did not store it. */
    readonly name: string | null
    readonly value: string
    /** ms since 1970; null: does not expire. */
    readonly expires_at: number | null
  }
}

/** Maximum number of keys in one statement. */
const mostKeys = 10_000

export function databaseStore({ database, clock }: { readonly database: Database; readonly clock: Clock }): KvStore {
  const tables = (): Kysely<KvTables> => database.tables<KvTables>()
  const alive =
    (now: number) =>
    (eb: ExpressionBuilder<KvTables, 'zin_kv'>): Expression<SqlBool> =>
      eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)])
  const rowOf = (key: string, value: string, ttlMs: number | undefined, now: number) => ({
    id: idOf(key),
    name: key,
    value,
    expires_at: ttlMs === undefined ? null : now + ttlMs,
  })

  const setIfAbsent = async (key: string, value: string, ttlMs: number | undefined): Promise<boolean> => {
    const now = clock.now()
    const row = rowOf(key, value, ttlMs, now)
    if (await database.insertIfAbsent('zin_kv', ['id'], row)) return true
    // An expired row counts as absent: remove it and retry the insert, which succeeds for one caller.
    const expired = await tables().deleteFrom('zin_kv').where('id', '=', row.id).where('expires_at', '<=', now).executeTakeFirst()
    return expired.numDeletedRows > 0n && database.insertIfAbsent('zin_kv', ['id'], row)
  }

  const setIfValue = async (key: string, value: string, ttlMs: number | undefined, before: string): Promise<boolean> => {
    const { sql } = await import('kysely')
    const now = clock.now()
    const { id, ...columns } = rowOf(key, value, ttlMs, now)
    const held = sql.ref('value')
    // MySQL collations treat different strings as equal, so compare bytes.
    const same =
      database.dialect === 'mysql'
        ? sql<SqlBool>`cast(convert(${held} using utf8mb4) as binary) = cast(${before} as binary)`
        : sql<SqlBool>`${held} = ${before}`
    const result = await tables().updateTable('zin_kv').set(columns).where('id', '=', id).where(alive(now)).where(same).executeTakeFirst()
    return result.numUpdatedRows > 0n
  }

  const add = async (key: string, by: number, ttlMs: number | undefined): Promise<Tally> => {
    const { sql } = await import('kysely')
    const now = clock.now()
    const row = rowOf(key, String(by), ttlMs, now)
    const mysql = database.dialect === 'mysql'
    const value = sql.ref('zin_kv.value')
    const expiresAt = sql.ref('zin_kv.expires_at')
    const integer = mysql ? sql`signed` : sql`integer`
    const changes = {
      // MySQL assigns from left to right: the value comes first, because it reads the old expiry.
      value: sql<string>`case when ${expiresAt} <= ${now} then ${String(by)} else cast(cast(${value} as ${integer}) + ${by} as ${integer}) end`,
      expires_at: sql<
        number | null
      >`case when ${expiresAt} <= ${now} then ${row.expires_at} else coalesce(${expiresAt}, ${row.expires_at}) end`,
      name: key,
    }
    const insert = tables().insertInto('zin_kv').values(row)
    const upsert = mysql
      ? insert.onDuplicateKeyUpdate(changes)
      : insert.onConflict((conflict) => conflict.column('id').doUpdateSet(changes))
    const read = tables().selectFrom('zin_kv').select(['value', 'expires_at']).where('id', '=', row.id)
    const [, result] = await database.batch([upsert, read])
    const [counter] = (result?.rows ?? []) as readonly KvTables['zin_kv'][]
    const end = counter?.expires_at ?? null
    return { sum: Number(counter?.value), leftMs: end === null ? undefined : Math.max(0, Number(end) - now) }
  }

  /** Stores the key of a row that was written without. A failure changes nothing: the next one who reads it tries again. */
  const addName = async (key: string): Promise<void> => {
    const named = tables().updateTable('zin_kv').set({ name: key }).where('id', '=', idOf(key)).where('name', 'is', null)
    await named.execute().catch(() => undefined)
  }

  return {
    driver: 'database',
    redis: undefined,
    async get(key) {
      const row = await tables()
        .selectFrom('zin_kv')
        .select(['value', 'name'])
        .where('id', '=', idOf(key))
        .where(alive(clock.now()))
        .executeTakeFirst()
      if (row?.name === null) await addName(key)
      return row?.value ?? null
    },
    async getMany(keys) {
      if (keys.length === 0) return []
      const ids = keys.map(idOf)
      const now = clock.now()
      const atOnce = Math.min(mostKeys, maxParameters(tables()) - 1)
      const chunks = Array.from({ length: Math.ceil(ids.length / atOnce) }, (_, index) =>
        tables()
          .selectFrom('zin_kv')
          .select(['id', 'value', 'name'])
          .where('id', 'in', ids.slice(index * atOnce, (index + 1) * atOnce))
          .where(alive(now))
          .execute(),
      )
      const rows = (await Promise.all(chunks)).flat()
      const values = new Map(rows.map((row) => [row.id, row.value]))
      const unnamed = new Set(rows.flatMap(({ id, name }) => (name === null ? [id] : [])))
      if (unnamed.size > 0) for (const [i, id] of ids.entries()) if (unnamed.delete(id)) await addName(keys[i] as string)
      return ids.map((id) => values.get(id) ?? null)
    },
    async set(key, value, { ttlMs, ifAbsent = false, ifValue } = {}) {
      if (ifValue !== undefined) return setIfValue(key, value, ttlMs, ifValue)
      if (ifAbsent) return setIfAbsent(key, value, ttlMs)
      await database.upsert('zin_kv', ['id'], rowOf(key, value, ttlMs, clock.now()))
      return true
    },
    async delete(key) {
      const deleted = await tables().deleteFrom('zin_kv').where('id', '=', idOf(key)).where(alive(clock.now())).executeTakeFirst()
      return deleted.numDeletedRows > 0n
    },
    async tally(key, { by = 1, ttlMs } = {}) {
      const current = await this.get(key)
      if (current !== null && !/^-?\d{1,16}$/.test(current)) throw kvErrors.KV_NOT_A_NUMBER(key)
      return add(key, by, ttlMs)
    },
    ping: (signal) => database.ping(signal),
    isUnavailable: (error) => isKvUnavailable(error) || database.isUnavailable(error),
    async sweep() {
      if (database.connected) await deleteBefore(tables(), { table: 'zin_kv', key: ['id'], column: 'expires_at', before: clock.now() + 1 })
    },
    close: () => Promise.resolve(),
  }
}

/** The id of the row of a key. */
export function idOf(key: string): string {
  return sha256Hex(key)
}
