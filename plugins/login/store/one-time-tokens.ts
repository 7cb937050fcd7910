import type { Query } from './users.js'

export type Purpose = 'password' | 'email'

export interface OneTimeToken {
  /** SHA-256 of the token, hex. */
  readonly hash: string
  readonly purpose: Purpose
  readonly userId: string
  /** Where it was sent. */
  readonly email: string
  /** ms since 1970. */
  readonly expiresAt: number
}

/** Tokens that the app mails to users, and the addresses that they proved. */
export interface OneTimeTokens {
  add(token: OneTimeToken): Promise<void>
  /** Removes and returns a token that has not expired. Atomic: of several calls, one gets it. */
  take(purpose: Purpose, hash: string, now: number): Promise<OneTimeToken | undefined>
  removeAll(userId: string, purpose: Purpose): Promise<void>
  /** What is stored about a user, by the id or the address, without the tokens. */
  ofUser(userId: string, email: string): Promise<readonly UserMail[]>
  /** Removes all that is stored about a user. Returns the number of records. */
  removeUser(userId: string, email: string): Promise<number>
  sweep(now: number): Promise<void>
  setVerified(userId: string, email: string, at: number): Promise<void>
  isVerified(userId: string, email: string): Promise<boolean>
}

export interface UserMail {
  readonly kind: 'verified email' | 'mailed token'
  readonly id: string
  readonly data: Readonly<Record<string, string>>
}

interface Tables {
  readonly zin_one_time_tokens: {
    readonly hash: string
    readonly purpose: string
    readonly user_id: string
    readonly email: string
    readonly expires_at: number
  }
  readonly zin_verified_emails: { readonly user_id: string; readonly email: string; readonly verified_at: number }
}

export function tableOneTimeTokens(query: Query): OneTimeTokens {
  return {
    add: ({ hash, purpose, userId, email, expiresAt }) =>
      query(async (store) => {
        const row = { hash, purpose, user_id: userId, email, expires_at: expiresAt }
        await store.tables<Tables>().insertInto('zin_one_time_tokens').values(row).execute()
      }),
    take: (purpose, hash, now) =>
      query(async (store) => {
        const tables = store.tables<Tables>()
        const row = await tables.selectFrom('zin_one_time_tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
        if (row?.hash !== hash || row.purpose !== purpose || Number(row.expires_at) <= now) return undefined
        const result = await tables.deleteFrom('zin_one_time_tokens').where('hash', '=', hash).executeTakeFirst()
        if (result.numDeletedRows !== 1n) return undefined
        return { hash, purpose, userId: row.user_id, email: row.email, expiresAt: Number(row.expires_at) }
      }),
    removeAll: (userId, purpose) =>
      query(async (store) => {
        const tokens = store.tables<Tables>().deleteFrom('zin_one_time_tokens')
        await tokens.where('user_id', '=', userId).where('purpose', '=', purpose).execute()
      }),
    ofUser: (userId, email) =>
      query(async (store) => {
        const tables = store.tables<Tables>()
        const verified = await tables
          .selectFrom('zin_verified_emails')
          .selectAll()
          .where(({ eb, or }) => or([eb('user_id', '=', userId), eb('email', '=', email)]))
          .execute()
        const sent = tables.selectFrom('zin_one_time_tokens').select(['purpose', 'user_id', 'email', 'expires_at'])
        const tokens = await sent.where(({ eb, or }) => or([eb('user_id', '=', userId), eb('email', '=', email)])).execute()
        return [
          ...verified.map(
            (row): UserMail => ({ kind: 'verified email', id: row.user_id, data: { email: row.email, verifiedAt: iso(row.verified_at) } }),
          ),
          ...tokens.map(
            (row): UserMail => ({
              kind: 'mailed token',
              id: row.user_id,
              data: { purpose: row.purpose, email: row.email, expiresAt: iso(row.expires_at) },
            }),
          ),
        ]
      }),
    removeUser: (userId, email) =>
      query(async (store) => {
        const tables = store.tables<Tables>()
        const verified = await tables
          .deleteFrom('zin_verified_emails')
          .where(({ eb, or }) => or([eb('user_id', '=', userId), eb('email', '=', email)]))
          .executeTakeFirst()
        const tokens = await tables
          .deleteFrom('zin_one_time_tokens')
          .where(({ eb, or }) => or([eb('user_id', '=', userId), eb('email', '=', email)]))
          .executeTakeFirst()
        return Number(verified.numDeletedRows + tokens.numDeletedRows)
      }),
    sweep: (now) =>
      query(async (store) => void (await store.tables<Tables>().deleteFrom('zin_one_time_tokens').where('expires_at', '<', now).execute())),
    setVerified: (userId, email, at) =>
      query((store) => store.upsert('zin_verified_emails', ['user_id'], { user_id: userId, email, verified_at: at })),
    isVerified: (userId, email) =>
      query(async (store) => {
        const row = await store
          .tables<Tables>()
          .selectFrom('zin_verified_emails')
          .selectAll()
          .where('user_id', '=', userId)
          .executeTakeFirst()
        return row?.user_id === userId && row.email === email
      }),
  }
}

/** Drivers return numbers as number, text or bigint. */
const iso = (ms: number): string => new Date(Number(ms)).toISOString()
