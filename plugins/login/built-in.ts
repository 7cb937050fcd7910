import type { Clock, HostView, Logger, PluginContext } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Database } from 'zin/plugins/database'
import type { Tokens } from 'zin/plugins/jwt'
import type { AccountData } from './account-data.js'
import { type Accounts, createAccounts } from './accounts.js'
import { userCommands } from './cli.js'
import { loginErrors } from './errors.js'
import { createUsers } from './migrations/0001-create-users.js'
import { useUnicodeInUsers } from './migrations/0002-use-unicode.js'
import type { LoginOptions } from './options.js'
import { createPasswords } from './passwords.js'
import { seedUser } from './seed.js'
import { databaseUsers } from './store/users.js'

/** The dependencies of the built-in users. */
interface BuiltInParts extends Pick<PluginContext, 'migration' | 'commands' | 'manage' | 'onStart'> {
  readonly options: LoginOptions
  readonly settings: { readonly DEMO_PASSWORD: string }
  readonly services: { readonly database: Database | undefined; readonly tokens: Tokens; readonly devices: Devices }
  readonly host: HostView
  readonly clock: Clock
  readonly log: Logger
}

/** Registers the users table, its commands and the seed. */
export function builtInAccounts(ctx: BuiltInParts, data: AccountData): Accounts {
  const { options, services, clock } = ctx
  if (services.database === undefined) throw loginErrors.LOGIN_USERS_MISSING()
  const accounts = createAccounts(
    databaseUsers(() => services.database),
    createPasswords(options.passwordChecks),
    clock,
  )
  ctx.migration(createUsers)
  ctx.migration(useUnicodeInUsers)
  ctx.commands(
    userCommands({
      accounts,
      data,
      tokens: () => services.tokens,
      devices: () => services.devices,
      input: () => process.stdin,
      manage: (action, work) => ctx.manage(action, work),
    }),
  )
  ctx.onStart(() => seed(ctx, accounts))
  return accounts
}

async function seed({ options, settings, host, log }: BuiltInParts, accounts: Accounts): Promise<void> {
  // Commands also start this plugin, but must print only their own output.
  if (options.seed === undefined || host.roles.size === 0) return
  const { email, role, passwordSetting } = options.seed
  if (host.app.production) {
    log.info({ email }, 'the option seed does not create a user in production; add users with "zin user:add"')
    return
  }
  // JSON logs go to a collector, where a password must not end up.
  const readable = process.stdout.isTTY || host.settings().some(({ name, value }) => name === 'LOG_FORMAT' && value === 'text')
  const print = readable ? (line: string): void => void process.stdout.write(`${line}\n`) : undefined
  await seedUser({
    accounts,
    email,
    role,
    setting: passwordSetting,
    password: settings[passwordSetting],
    rootDir: host.app.rootDir,
    print,
    log,
  })
}
