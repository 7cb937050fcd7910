import { checkedValue, definePlugin, optional } from 'zin'
import type {} from 'zin/plugins/bulletproof'
import type {} from 'zin/plugins/compliance'
import { credentialsService, tokensService } from 'zin/plugins/jwt'
import { kvService } from 'zin/plugins/kv'
import type {} from 'zin/plugins/login'
import { sessionsService } from './contract.js'
import { SessionCookie } from './cookie.js'
import { sessionCredentials } from './credentials.js'
import { fieldTaker } from './csrf.js'
import { sessionsErrors } from './errors.js'
import { SessionKeys } from './keys.js'
import { SessionManager } from './manager.js'
import { sessionsOptions } from './options.js'
import { sessionRoutes } from './routes.js'
import { sessionsSettings } from './settings.js'
import { SessionStore } from './store.js'

export type { Session, SessionControl, SessionData, Sessions, SessionUser } from './contract.js'
export { sessionsService } from './contract.js'
export type { SessionsOptions } from './options.js'

/** Sessions of browsers: `ctx.session`, by a signed cookie, with CSRF tokens; the middleware `auth` accepts signed-in ones. */
export const sessions = definePlugin({
  name: 'sessions',
  version: '1.0.0',
  description: 'Sessions of browsers: signed cookies, CSRF tokens, log out everywhere; middleware key sessions',
  uses: { kv: kvService, credentials: optional(credentialsService), tokens: optional(tokensService) },
  provides: [sessionsService],
  errors: sessionsErrors,
  settings: sessionsSettings,
  options: sessionsOptions,
  setup(ctx) {
    const { options, settings, services, host, clock, log, hooks } = ctx
    const { idleMs, lifetimeMs, maxBytes, maxPerUser, sameSite, domain, cookieName } = options
    const secure = options.secure ?? host.app.production
    ctx.onCheck(() => {
      if (lifetimeMs < idleMs) throw sessionsErrors.SESSION_OPTIONS_INVALID('"lifetimeMs" must be at least "idleMs"')
      if (sameSite === 'none' && !secure)
        throw sessionsErrors.SESSION_OPTIONS_INVALID("sameSite: 'none' needs secure: true: browsers refuse such a cookie otherwise")
    })
    const keys = checkedValue(
      ctx,
      () => {
        const made = new SessionKeys(settings, host.app.production)
        if (made.ephemeral)
          log.warn('neither SESSION_SECRET nor APP_KEY is set: sessions last only until this process ends; set APP_KEY in .env')
        return made
      },
      () => new SessionKeys({ SESSION_SECRET: '', SESSION_SECRET_BK: '', APP_KEY: '', APP_KEY_BK: '' }, false),
    )

    const cookie = new SessionCookie({ cookieName, secure, sameSite, domain })
    const times = { idleMs, lifetimeMs }
    const store = new SessionStore({ kv: () => services.kv, times, maxPerUser, now: () => clock.now() })
    const manager = new SessionManager({
      keys,
      cookie,
      store,
      times,
      maxBytes,
      accessEnded: (sub) => hooks.slot('onAccessEnded').call(sub),
      clock,
      log,
    })

    const endAll = async (sub: string | number): Promise<number> => {
      const ended = await store.endAll(sub)
      if (ended > 0) await hooks.slot('onAccessEnded').call(String(sub))
      return ended
    }

    ctx.provide(sessionsService, {
      of(request) {
        const open = manager.openOf(request)
        if (open === undefined) throw sessionsErrors.SESSION_MISSING()
        return open.use()
      },
      endAll,
    })
    if (options.global) ctx.use(manager.around)
    ctx.middleware({ key: 'sessions', handler: manager.around as never })
    const takeField = fieldTaker()
    ctx.use(
      (request, next) => {
        manager.openOf(request)?.checkLate(takeField(request, ctx.routeOf(request)?.body))
        return next()
      },
      { phase: 'parsed' },
    )
    ctx.routes(
      sessionRoutes({
        manage: ctx.manage,
        endAll: async (sub) => {
          // It also ends the sessions, by the hook below.
          if (services.tokens !== undefined) await services.tokens.revokeUser(sub)
          else await endAll(sub)
        },
      }),
    )

    if (host.plugins().some(({ name }) => name === 'login')) {
      hooks.on('onLogin', (request, user) => {
        const { sub } = user
        if (sub !== undefined)
          manager.openOf(request)?.signIn({ ...user, sub }, async () => (await services.tokens?.isRevoked(user)) !== true)
      })
      hooks.on('onLogout', (request, { sub }) => {
        const open = manager.openOf(request)
        if (open?.user !== undefined && String(open.user.sub) === String(sub)) open.destroy()
      })
    }
    // The plugins that end access report it.
    if (host.plugins().some(({ name }) => name === 'bulletproof'))
      hooks.on('onDeviceRemoved', async ({ userId, deviceId }) => void (await store.endOfDevice(userId, deviceId)))
    if (services.tokens !== undefined) hooks.on('onRevokeUser', async (sub) => void (await store.endAll(sub)))
    if (host.plugins().some(({ name }) => name === 'compliance')) {
      hooks.on('exportSubject', (subject) => manager.recordsOf(subject))
      hooks.on('eraseSubject', async (subject) => {
        // Not counted: those of an account may have ended with it just now.
        await store.endAll(subject)
        return 0
      })
    }
    if (options.auth && services.credentials !== undefined)
      ctx.onStop(
        services.credentials.accept(sessionCredentials({ manager, clock, lifetimeMs, cookieName: cookie.name, app: host.app.name })),
      )
  },
})
