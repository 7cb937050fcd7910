import type { Database } from 'zin/plugins/database'
import { createUsers } from './migrations/0001-create-users.js'
import { createRefreshTokens } from './migrations/0003-create-refresh-tokens.js'
import { createTotpTables } from './migrations/0004-create-totp.js'
import { createOneTimeTokensTables } from './migrations/0005-create-one-time-tokens.js'
import { type OneTimeTokens, tableOneTimeTokens } from './store/one-time-tokens.js'
import { type TableFamilies, tableFamilies } from './store/refresh-table.js'
import { type TotpStore, tableTotp } from './store/totp.js'
import { databaseUsers, queryOf, type Users } from './store/users.js'

/** The tables with records of accounts; undefined: the database does not have them. */
export interface AccountStores {
  readonly users?: Users | undefined
  readonly refresh?: TableFamilies | undefined
  readonly totp?: TotpStore | undefined
  readonly mailed?: OneTimeTokens | undefined
}

/** The tables that the database has, also those of options that are off by now. */
export async function accountStores(database: Database | undefined): Promise<AccountStores> {
  if (database === undefined) return {}
  const query = queryOf(() => database)
  const rows = await query((store) => store.migrations.status({ plugins: ['login'] }))
  const done = new Set(rows.filter(({ status }) => status !== 'pending').map(({ id }) => id))
  const ifDone = <T>({ id }: { readonly id: string }, store: T): T | undefined => (done.has(id) ? store : undefined)
  return {
    users: ifDone(
      createUsers,
      databaseUsers(() => database),
    ),
    refresh: ifDone(createRefreshTokens, tableFamilies(query)),
    totp: ifDone(createTotpTables, tableTotp(query)),
    mailed: ifDone(createOneTimeTokensTables, tableOneTimeTokens(query)),
  }
}
