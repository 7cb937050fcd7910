import { definePlugin, optional } from 'zin'
import { devicesService, signedRequestsService } from 'zin/plugins/bulletproof'
import type {} from 'zin/plugins/compliance'
import { databaseService } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { kvService } from 'zin/plugins/kv'
import { signatureHeaderNames } from 'zin/signing'
import { accountData } from './account-data.js'
import { accountStores } from './account-stores.js'
import type { Accounts } from './accounts.js'
import { builtInAccounts } from './built-in.js'
import { loginUsersService } from './contract.js'
import { kvCounters, memoryCounters } from './counters.js'
import { loginErrors } from './errors.js'
import { loginHooks } from './hooks.js'
import { accountMails } from './mails/setup.js'
import { managedLogin } from './managed.js'
import { type LoginOptions, loginOptions, type VerifyCredentials } from './options.js'
import { refreshTokens } from './refresh-setup.js'
import { loginRoutes } from './routes.js'
import { createLogin } from './service.js'
import { loginSettings } from './settings.js'
import { createThrottle } from './throttle.js'
import { secondFactor } from './totp/setup.js'
import { createLoginUsers } from './users.js'

export type { LoginUsers, NewUser } from './contract.js'
export { loginUsersService } from './contract.js'
export type { AccountMail, LoginHooks } from './hooks.js'
export type { FindUser, LoginOptions, VerifiedUser, VerifyCredentials } from './options.js'

/** Login, logout and `/api/me`, with a built-in users table or a credential check of the app. */
export const login = definePlugin({
  name: 'login',
  version: '1.0.0',
  description: 'Login, logout and /api/me; a users table with argon2id passwords',
  uses: {
    tokens: tokensService,
    devices: devicesService,
    signed: signedRequestsService,
    database: optional(databaseService),
    kv: optional(kvService),
  },
  provides: [loginUsersService],
  hooks: loginHooks,
  packages: {
    '@node-rs/argon2': { when: '`verifyCredentials` is not set', needed: ({ options }) => options.verifyCredentials === undefined },
    otpauth: { when: '`totp` is set', needed: ({ options }) => Boolean(options.totp), added: false },
  },
  errors: loginErrors,
  settings: loginSettings,
  options: loginOptions,
  async setup(ctx) {
    const { options, settings, services, host, hooks, clock, log } = ctx
    checkOptions(options)
    const data = accountData({
      stores: () => accountStores(services.database),
      tokens: () => services.tokens,
      devices: () => services.devices,
      now: () => clock.now(),
    })
    const accounts = options.verifyCredentials === undefined ? builtInAccounts(ctx, data) : undefined
    const verify = accounts?.verify ?? ownUsers(options.verifyCredentials as VerifyCredentials)
    const refresh = options.refreshTokens ? refreshTokens(ctx, accounts) : undefined

    // Decided once: if kv becomes unavailable later, logins must be refused rather than counted from zero.
    const counters = services.kv === undefined ? memoryCounters(clock) : kvCounters(() => services.kv, clock)
    if (services.kv === undefined) ctx.every(60_000, counters.sweep)
    const factor = await secondFactor(ctx, counters, accounts)
    const mails = accountMails(ctx, counters, accounts)
    if (host.plugins().some(({ name }) => name === 'compliance')) {
      hooks.on('nameSubject', (subject) => data.names(subject))
      hooks.on('exportSubject', (subject) => data.records(subject))
      hooks.on('eraseSubject', (subject) => data.erase(subject))
      hooks.on('forgetSubject', (subject) => data.forget(subject))
    }
    ctx.provide(loginUsersService, createLoginUsers(accounts, mails, ctx.manage))
    const service = createLogin({
      verify,
      tokens: () => services.tokens,
      devices: () => services.devices,
      refresh,
      admit: async ({ id, email }, code) => {
        await factor?.check(String(id), code)
        if (options.emailVerification === 'required' && !(await mails?.isVerified(String(id), email)))
          throw loginErrors.EMAIL_NOT_VERIFIED()
      },
      throttle: createThrottle(counters, options),
      bindTimezone: options.bindTimezone,
      bindUserAgent: options.bindUserAgent,
      log,
    })
    const managed = managedLogin(service, ctx.manage)
    const names = signatureHeaderNames(settings.SIGNATURE_HEADER_PREFIX)
    ctx.routes(
      loginRoutes({
        login: managed,
        names,
        refresh,
        signed: () => services.signed,
        refreshSigned: options.refreshSigned,
        loggedIn: ctx.hooks.slot('onLogin'),
        loggedOut: ctx.hooks.slot('onLogout'),
      }),
    )
  },
})

/** The app checks these users itself, and must end the sessions of users that it disables. */
function ownUsers(verify: VerifyCredentials): Accounts['verify'] {
  return async (email, password) => {
    const user = await verify(email, password)
    return user && { ...user, stands: async () => true }
  }
}

/** Validates what the schema of the options cannot express. */
function checkOptions({ verifyCredentials, seed }: LoginOptions): void {
  if (verifyCredentials !== undefined && seed !== undefined) {
    throw loginErrors.LOGIN_OPTION_INVALID(
      'the options "seed" and "verifyCredentials" are mutually exclusive: "seed" needs the built-in users table; remove one of them',
    )
  }
}
