import type { Clock, Logger, PluginContext } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Database } from 'zin/plugins/database'
import type { Tokens } from 'zin/plugins/jwt'
import type { Accounts } from '../accounts.js'
import type { Counters } from '../counters.js'
import { loginErrors } from '../errors.js'
import { createOneTimeTokensTables } from '../migrations/0005-create-one-time-tokens.js'
import type { LoginOptions } from '../options.js'
import { type Purpose, tableOneTimeTokens } from '../store/one-time-tokens.js'
import { queryOf } from '../store/users.js'
import { createMails, type Mails } from './mails.js'
import { mailRoutes } from './routes.js'

interface MailsContext
  extends Pick<PluginContext, 'migration' | 'manage' | 'hooks' | 'routes' | 'every' | 'onCheck' | 'onStart' | 'onStop'> {
  readonly options: LoginOptions
  readonly services: { readonly database: Database | undefined; readonly tokens: Tokens; readonly devices: Devices }
  readonly clock: Clock
  readonly log: Logger
}

/** Registers password resets and email verification: their table and routes. Undefined when both are off. */
export function accountMails(ctx: MailsContext, counters: Counters, accounts: Accounts | undefined): Mails | undefined {
  const { options, services, clock, log } = ctx
  const purposes: readonly Purpose[] = [
    ...(options.passwordReset ? (['password'] as const) : []),
    ...(options.emailVerification === 'off' ? [] : (['email'] as const)),
  ]
  if (purposes.length === 0) return undefined
  if (accounts === undefined)
    throw loginErrors.LOGIN_OPTION_INVALID(
      'the options "passwordReset" and "emailVerification" are for the built-in users; remove them, or "verifyCredentials"',
    )
  const slots = { password: ctx.hooks.slot('sendPasswordReset'), email: ctx.hooks.slot('sendEmailVerification') }
  ctx.onCheck(() => {
    for (const purpose of purposes)
      if (!slots[purpose].active) {
        const [option, hook] =
          purpose === 'password' ? ['passwordReset', 'sendPasswordReset'] : ['emailVerification', 'sendEmailVerification']
        throw loginErrors.LOGIN_OPTION_INVALID(
          `the option "${option}" needs a listener of the hook ${hook}, which sends the mail; see the README`,
        )
      }
  })
  ctx.migration(createOneTimeTokensTables)
  const store = tableOneTimeTokens(queryOf(() => services.database))
  const mails = createMails({
    accounts,
    store,
    purposes,
    counters,
    send: { password: (mail) => slots.password.call(mail), email: (mail) => slots.email.call(mail) },
    lifeMs: { password: options.passwordResetSeconds * 1000, email: options.emailVerificationSeconds * 1000 },
    perAccountAndHour: options.mailsPerHour,
    perAddressAndHour: options.addressMailsPerHour,
    endSessions: async (userId) => {
      await services.tokens.revokeUser(userId)
      await services.devices.removeAll(userId)
    },
    clock,
    log,
  })
  // A new password or role also ends what was mailed before.
  ctx.hooks.on('onRevokeUser', (sub) => store.removeAll(sub, 'password'))
  ctx.routes(mailRoutes(mails, purposes, (action, work) => ctx.manage(action, work)))
  ctx.onStart(() => void ctx.every(3_600_000, () => mails.sweep()))
  ctx.onStop(() => mails.settled())
  return mails
}
