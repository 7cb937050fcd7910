import { definePlugin, messageOf, optional } from 'zin'
import { signatureSettings } from 'zin/plugins/bulletproof'
import { kvService } from 'zin/plugins/kv'
import { errorBody } from 'zin/plugins/sql-wire'
import type { Running } from './assemble.js'
import { keysOf } from './auth/keys.js'
import { checkSettings, signingRequired } from './check-settings.js'
import { rdbProxyErrors } from './errors.js'
import { wireErrorFor } from './handler.js'
import { rdbProxyOptions } from './options.js'
import { basePath, rdbProxyRoutes } from './routes.js'
import { rdbProxySettings } from './settings.js'

export type { RdbProxyOptions } from './options.js'
export { rdbProxyKeySettings } from './settings.js'

/** Serves SQL over HTTP to callers that cannot open connections to MySQL or MariaDB. */
export const rdbProxy = definePlugin({
  name: 'rdb-proxy',
  version: '1.0.0',
  description: 'SQL over signed HTTP in front of MySQL or MariaDB',
  uses: { kv: optional(kvService) },
  packages: { mysql2: {} },
  errors: rdbProxyErrors,
  settings: { ...rdbProxySettings, ...signatureSettings },
  options: rdbProxyOptions,
  setup(ctx) {
    const { settings, options, host, services, clock, log, hooks } = ctx
    const keys = keysOf({ keyId: settings.RDB_PROXY_KEY_ID, secret: settings.RDB_PROXY_SECRET, options })
    let running: Running | undefined

    ctx.routes(
      rdbProxyRoutes(() => {
        if (running === undefined) throw new Error('rdb-proxy has not started')
        return running
      }),
    )
    // Errors that the app raises before a route runs also use the wire format.
    hooks.on('transformErrorBody', (body, error, { path, id }) => {
      if (!path.startsWith(basePath)) return body
      const wire = errorBody(wireErrorFor(error), id)
      return { ...body, ...wire }
    })
    ctx.onCheck(() => {
      const { production, allowedHosts } = host.app
      // A command, such as config:check, finds what the app will.
      const serving = host.roles.has('http') || host.roles.size === 0
      const warnings = checkSettings({ settings, options, keys, production, loopback: allowedHosts !== undefined, serving })
      if (host.roles.size > 0) for (const warning of warnings) log.warn(warning)
    })
    ctx.onStart(async () => {
      // Imported lazily: it loads the database driver.
      const { assemble } = await import('./assemble.js')
      const required = signingRequired(settings, keys)
      const headerPrefix = settings.SIGNATURE_HEADER_PREFIX
      const made = assemble({
        settings,
        headerPrefix,
        options,
        keys,
        signingRequired: required,
        app: host.app,
        kv: () => services.kv,
        isStopping: () => host.state === 'draining',
        clock,
        log,
      })
      running = made
      await made.start()
      ctx.every(30_000, async () => {
        made.gateway.trim()
        await made.nonces.sweep()
      })
      ctx.every(3_600_000, () =>
        made.sweepReceipts().catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'expired receipts were not deleted')),
      )
      if (options.watch) ctx.every(500, () => made.statements.look())
      if (options.reloadOnHangup) {
        const reload = (): void => void made.statements.reload()
        process.on('SIGHUP', reload)
        ctx.onStop(() => void process.off('SIGHUP', reload))
      }
    })
    ctx.describe(() => settings.RDB_PROXY_MODE)
    ctx.onStop(() => running?.close())
  },
})
