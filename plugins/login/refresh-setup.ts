import type { Clock, Logger, PluginContext } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Database } from 'zin/plugins/database'
import type { Tokens } from 'zin/plugins/jwt'
import type { Kv } from 'zin/plugins/kv'
import type { Accounts } from './accounts.js'
import { queryKv } from './counters.js'
import { createRefreshTokens as createRefreshTokensTable } from './migrations/0003-create-refresh-tokens.js'
import type { FindUser, LoginOptions } from './options.js'
import { createRefreshTokens, type RefreshTokens } from './refresh.js'
import { kvFamilies, memoryValues, type RefreshStore } from './store/refresh.js'
import { tableFamilies } from './store/refresh-table.js'
import { queryOf } from './store/users.js'

interface RefreshContext extends Pick<PluginContext, 'migration' | 'manage' | 'hooks' | 'every' | 'onStart'> {
  readonly options: LoginOptions
  readonly services: {
    readonly tokens: Tokens
    readonly devices: Devices
    readonly database: Database | undefined
    readonly kv: Kv | undefined
  }
  readonly clock: Clock
  readonly log: Logger
}

/** Refresh tokens, in a table, in the kv, or in the process. A user whose tokens are revoked loses them, whoever revokes. */
export function refreshTokens(ctx: RefreshContext, accounts: Accounts | undefined): RefreshTokens {
  const { options, services, clock, log, manage } = ctx
  const { findUser } = options
  // Asked by the type of `id`: a built-in user has text.
  const userOf = (id: string | number): ReturnType<FindUser> | Promise<'unknown'> =>
    accounts?.current(String(id)) ?? findUser?.(id) ?? Promise.resolve('unknown' as const)
  if (services.database !== undefined) ctx.migration(createRefreshTokensTable)
  const refresh = createRefreshTokens({
    store: chooseFamilies(services, clock),
    tokens: () => services.tokens,
    devices: () => services.devices,
    userOf,
    idleMs: options.refreshIdleSeconds * 1000,
    maxMs: options.refreshMaxSeconds * 1000,
    clock,
    manage: (action, work) => manage(action, work),
    log,
  })
  ctx.hooks.on('onRevokeUser', (sub) => refresh.endUser(sub))
  ctx.onStart(() => void ctx.every(3_600_000, () => refresh.sweep()))
  return refresh
}

/** Decided once, like the counters. */
function chooseFamilies(services: RefreshContext['services'], clock: Clock): RefreshStore {
  if (services.database !== undefined) return tableFamilies(queryOf(() => services.database))
  const now = (): number => clock.now()
  if (services.kv === undefined) {
    const values = memoryValues()
    return kvFamilies((run) => run(values), now)
  }
  return kvFamilies(
    queryKv(() => services.kv),
    now,
  )
}
