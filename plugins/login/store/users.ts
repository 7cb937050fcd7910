import { storeUnavailable } from 'zin'
import type { Database } from 'zin/plugins/database'

/** A row of the built-in users table. */
export interface User {
  readonly id: string
  /** In the form of `canonicalEmail`. */
  readonly email: string
  readonly passwordHash: string
  readonly role: string
  /** ms since 1970. */
  readonly createdAt: number
  readonly disabledAt?: number
}

export interface Users {
  find(email: string): Promise<User | undefined>
  findById(id: string): Promise<User | undefined>
  /** False when the email is already in use. Atomic. */
  add(user: User): Promise<boolean>
  /** By email. */
  list(): Promise<readonly User[]>
  /** False when no user has the email. */
  change(email: string, change: UserChange): Promise<boolean>
  /** False when no user has the email. */
  remove(email: string): Promise<boolean>
}

export interface UserChange {
  readonly passwordHash?: string
  readonly role?: string
  /** ms since 1970; `null` lets the user log in again. */
  readonly disabledAt?: number | null
}

interface UserTables {
  readonly zin_users: {
    readonly id: string
    readonly email: string
    readonly password_hash: string
    readonly role: string
    readonly created_at: number
    readonly disabled_at: number | null
  }
}

/** Runs queries; a database that is unavailable or disabled causes a 503. */
export type Query = <T>(run: (store: Database) => Promise<T>) => Promise<T>

export function queryOf(database: () => Database | undefined): Query {
  return async (run) => {
    const store = database()
    if (store === undefined) throw storeUnavailable(new Error('the plugin database is disabled'))
    try {
      return await run(store)
    } catch (error) {
      throw store.isUnavailable(error) ? storeUnavailable(error) : error
    }
  }
}

export function databaseUsers(database: () => Database | undefined): Users {
  const query = queryOf(database)
  return {
    find: (email) =>
      query(async (store) => {
        const row = await store.tables<UserTables>().selectFrom('zin_users').selectAll().where('email', '=', email).executeTakeFirst()
        // A collation may treat two spellings as equal; a login must not.
        return row?.email === email ? userOf(row) : undefined
      }),
    findById: (id) =>
      query(async (store) => {
        const row = await store.tables<UserTables>().selectFrom('zin_users').selectAll().where('id', '=', id).executeTakeFirst()
        return row?.id === id ? userOf(row) : undefined
      }),
    add: (user) =>
      query((store) =>
        store.insertIfAbsent('zin_users', ['email'], {
          id: user.id,
          email: user.email,
          password_hash: user.passwordHash,
          role: user.role,
          created_at: user.createdAt,
          disabled_at: user.disabledAt ?? null,
        }),
      ),
    list: () =>
      query(async (store) => (await store.tables<UserTables>().selectFrom('zin_users').selectAll().orderBy('email').execute()).map(userOf)),
    change: (email, { passwordHash, role, disabledAt }) =>
      query(async (store) => {
        const result = await store
          .tables<UserTables>()
          .updateTable('zin_users')
          .set({
            ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
            ...(role === undefined ? {} : { role }),
            ...(disabledAt === undefined ? {} : { disabled_at: disabledAt }),
          })
          .where('email', '=', email)
          .executeTakeFirst()
        return result.numUpdatedRows > 0n
      }),
    remove: (email) =>
      query(async (store) => {
        const result = await store.tables<UserTables>().deleteFrom('zin_users').where('email', '=', email).executeTakeFirst()
        return result.numDeletedRows > 0n
      }),
  }
}

function userOf(row: UserTables['zin_users']): User {
  const { id, email, role } = row
  const user = { id, email, role, passwordHash: row.password_hash, createdAt: Number(row.created_at) }
  return row.disabled_at === null ? user : { ...user, disabledAt: Number(row.disabled_at) }
}
