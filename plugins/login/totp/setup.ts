import { type Clock, type HostView, importPackage, type PluginContext } from 'zin'
import type { Database } from 'zin/plugins/database'
import { createSealer, parseSecrets } from 'zin/signing'
import type { Accounts } from '../accounts.js'
import type { Counters } from '../counters.js'
import { loginErrors } from '../errors.js'
import { createTotpTables } from '../migrations/0004-create-totp.js'
import type { LoginOptions } from '../options.js'
import { tableTotp } from '../store/totp.js'
import { queryOf } from '../store/users.js'
import { resetCommand } from './cli.js'
import { totpRoutes } from './routes.js'
import { createSecondFactor, type SecondFactor } from './second-factor.js'

interface SecondFactorContext extends Pick<PluginContext, 'migration' | 'manage' | 'command' | 'routes' | 'onCheck'> {
  readonly options: LoginOptions
  readonly settings: { readonly APP_KEY: string; readonly APP_KEY_BK: string }
  readonly services: { readonly database: Database | undefined }
  readonly host: HostView
  readonly clock: Clock
}

/** Registers the second factor: its tables, routes and command. */
export async function secondFactor(
  ctx: SecondFactorContext,
  counters: Counters,
  accounts: Accounts | undefined,
): Promise<SecondFactor | undefined> {
  const { options, settings, services, host, clock } = ctx
  if (!options.totp) return undefined
  if (services.database === undefined) throw loginErrors.LOGIN_OPTION_INVALID('the option "totp" needs the plugin database; enable it')
  const otpauth = await importPackage('otpauth', () => import('otpauth'))
  ctx.onCheck(() => {
    if (settings.APP_KEY === '')
      throw loginErrors.LOGIN_OPTION_INVALID(
        'the option "totp" needs APP_KEY, which encrypts the secrets; set it in the environment or .env',
      )
  })
  ctx.migration(createTotpTables)
  const factor = createSecondFactor({
    store: tableTotp(queryOf(() => services.database)),
    otpauth,
    // The check above has refused an empty key before anything is sealed.
    sealer: createSealer([settings.APP_KEY || 'none', ...parseSecrets(settings.APP_KEY_BK, 'APP_KEY_BK')]),
    counters,
    issuer: options.totpIssuer ?? host.app.name.replaceAll(':', ' '),
    clock,
  })
  ctx.routes(totpRoutes(factor, (action, work) => ctx.manage(action, work)))
  ctx.command(resetCommand(factor, accounts, (action, work) => ctx.manage(action, work)))
  return factor
}
