import type { Query } from './users.js'

export interface TotpRecord {
  readonly userId: string
  /** Sealed. */
  readonly secret: string
  /** ms since 1970; absent until the user has sent a first code. */
  readonly confirmedAt?: number
  /** Number of the newest 30 s step whose code was used. */
  readonly lastStep: number
}

/** Second factors and recovery codes of users. */
export interface TotpStore {
  find(userId: string): Promise<TotpRecord | undefined>
  /** Sets the secret unless one is confirmed. Returns false if so. Atomic. */
  begin(userId: string, secret: string): Promise<boolean>
  /** Confirms this secret. False when it was replaced or confirmed meanwhile. Atomic. */
  confirm(userId: string, secret: string, step: number, at: number): Promise<boolean>
  /** Uses up a step and all before it. False when it was used. Atomic. */
  advance(userId: string, step: number): Promise<boolean>
  reseal(userId: string, before: string, after: string): Promise<void>
  /** Replaces all recovery codes. */
  setCodes(userId: string, hashes: readonly string[]): Promise<void>
  /** False when there is no such code. Atomic. */
  useCode(userId: string, hash: string): Promise<boolean>
  countCodes(userId: string): Promise<number>
  /** False when there was none. */
  remove(userId: string): Promise<boolean>
}

interface Tables {
  readonly zin_totp: {
    readonly user_id: string
    readonly secret: string
    readonly confirmed_at: number | null
    readonly last_step: number
  }
  readonly zin_recovery_codes: { readonly user_id: string; readonly hash: string }
}

export function tableTotp(query: Query): TotpStore {
  return {
    find: (userId) =>
      query(async (store) => {
        const row = await store.tables<Tables>().selectFrom('zin_totp').selectAll().where('user_id', '=', userId).executeTakeFirst()
        if (row?.user_id !== userId) return undefined
        const record = { userId, secret: row.secret, lastStep: Number(row.last_step) }
        return row.confirmed_at === null ? record : { ...record, confirmedAt: Number(row.confirmed_at) }
      }),
    begin: (userId, secret) =>
      query(async (store) => {
        const row = { user_id: userId, secret, confirmed_at: null, last_step: 0 }
        if (await store.insertIfAbsent('zin_totp', ['user_id'], row)) return true
        const result = await store
          .tables<Tables>()
          .updateTable('zin_totp')
          .set({ secret, last_step: 0 })
          .where('user_id', '=', userId)
          .where('confirmed_at', 'is', null)
          .executeTakeFirst()
        return result.numUpdatedRows === 1n
      }),
    confirm: (userId, secret, step, at) =>
      query(async (store) => {
        const result = await store
          .tables<Tables>()
          .updateTable('zin_totp')
          .set({ confirmed_at: at, last_step: step })
          .where('user_id', '=', userId)
          .where('secret', '=', secret)
          .where('confirmed_at', 'is', null)
          .executeTakeFirst()
        return result.numUpdatedRows === 1n
      }),
    advance: (userId, step) =>
      query(async (store) => {
        const result = await store
          .tables<Tables>()
          .updateTable('zin_totp')
          .set({ last_step: step })
          .where('user_id', '=', userId)
          .where('last_step', '<', step)
          .executeTakeFirst()
        return result.numUpdatedRows === 1n
      }),
    reseal: (userId, before, after) =>
      query(async (store) => {
        const change = store.tables<Tables>().updateTable('zin_totp').set({ secret: after })
        await change.where('user_id', '=', userId).where('secret', '=', before).execute()
      }),
    setCodes: (userId, hashes) =>
      query(async (store) => {
        const tables = store.tables<Tables>()
        const rows = hashes.map((hash) => ({ user_id: userId, hash }))
        await store.batch([
          tables.deleteFrom('zin_recovery_codes').where('user_id', '=', userId),
          tables.insertInto('zin_recovery_codes').values(rows),
        ])
      }),
    useCode: (userId, hash) =>
      query(async (store) => {
        const codes = store.tables<Tables>().deleteFrom('zin_recovery_codes')
        const result = await codes.where('user_id', '=', userId).where('hash', '=', hash).executeTakeFirst()
        return result.numDeletedRows === 1n
      }),
    countCodes: (userId) =>
      query(async (store) => {
        const codes = store.tables<Tables>().selectFrom('zin_recovery_codes').where('user_id', '=', userId)
        const { count } = await codes.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
        return Number(count)
      }),
    remove: (userId) =>
      query(async (store) => {
        const tables = store.tables<Tables>()
        await tables.deleteFrom('zin_recovery_codes').where('user_id', '=', userId).execute()
        const result = await tables.deleteFrom('zin_totp').where('user_id', '=', userId).executeTakeFirst()
        return result.numDeletedRows === 1n
      }),
  }
}
