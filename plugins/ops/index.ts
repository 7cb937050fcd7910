import { checkedValue, definePlugin, optional } from 'zin'
import { signedRequestsService } from 'zin/plugins/bulletproof'
import { tokensService } from 'zin/plugins/jwt'
import { backupCommand } from './cli.js'
import { opsService } from './contract.js'
import { opsErrors } from './errors.js'
import { opsMode } from './mode.js'
import { opsOptions } from './options.js'
import { backupRoutes } from './routes.js'
import { OpsGuard } from './service.js'
import { opsSettings } from './settings.js'

export type { Actor, Ops, OpsAccess } from './contract.js'
export { opsService } from './contract.js'
export { isForwarded } from './local.js'
export type { OpsOptions } from './options.js'
export { crossSiteProblem, type SiteRequest } from './site.js'

/** Guards operator routes: workers, queues, resources, console. */
export const ops = definePlugin({
  name: 'ops',
  version: '1.0.0',
  description: 'Guard of operator routes; middleware key ops',
  uses: { tokens: optional(tokensService), signed: optional(signedRequestsService) },
  provides: [opsService],
  errors: opsErrors,
  settings: opsSettings,
  options: opsOptions,
  setup(ctx) {
    const { options, settings, services, host, log } = ctx
    const mode = checkedValue<'open' | 'required'>(
      ctx,
      () => opsMode(settings.OPS_AUTH, { production: host.app.production, host: host.app.bind.host }),
      () => 'required',
    )
    const guard = new OpsGuard({
      mode,
      roles: options.roles,
      permissions: options.permissions,
      bindHost: host.app.bind.host,
      port: () => host.address?.port,
      tokens: () => services.tokens,
      signed: () => services.signed,
    })
    ctx.provide(opsService, guard)
    ctx.middleware(guard.middleware)
    const collectBackup = ctx.hooks.slot('collectBackup')
    ctx.command(backupCommand({ collectBackup, checkBackup: ctx.hooks.slot('checkBackup') }))
    ctx.routes(backupRoutes({ dataDir: host.app.dataDir, collect: collectBackup }))
    ctx.onStart(() => {
      if (mode === 'open') log.info('the app can be operated from this machine without credentials (OPS_AUTH)')
    })
    ctx.onCheck(() => {
      if (mode === 'open' || services.tokens !== undefined || services.signed !== undefined) return
      const why =
        settings.OPS_AUTH === 'required'
          ? 'OPS_AUTH is required'
          : host.app.production
            ? 'this is production'
            : `the app binds to ${host.app.bind.host}`
      throw opsErrors.OPS_NO_CREDENTIALS(why)
    })
  },
})
