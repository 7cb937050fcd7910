import { join } from 'node:path'
import { definePlugin, messageOf } from 'zin'
import { standIn, standInUse } from 'zin/plugins/sqlite'
import { edgeProxyErrors } from './errors.js'
import { openSqliteBinding, type SqliteBinding } from './local/sqlite-binding.js'
import { type EdgeProxyOptions, edgeProxyOptions } from './options.js'
import { edgeProxyRoutes } from './routes.js'
import { edgeProxySettings, workerSettings } from './settings.js'
import { type EdgeConfig, EdgeConfigError, noSecret, readConfig } from './worker/config.js'
import { createHandler, type EdgeHandler } from './worker/handler.js'
import { timedDatabase } from './worker/timed-database.js'

export type { EdgeProxyOptions } from './options.js'
export { edgeRemoteSettings } from './settings.js'
export type { EdgeBinding, EdgeResult, EdgeStatement, EdgeValue } from './worker/d1.js'

/** Minimum length of the secret in production, in bytes. */
const minSecretBytes = 32

/** Serves the edge SQL proxy in an app: signed SQL requests for a D1-style database. */
export const edgeProxy = definePlugin({
  name: 'edge-proxy',
  version: '1.0.0',
  description: 'Signed SQL over HTTP for a D1-style database: registered statements, or SQL from the caller',
  packages: { [standIn]: standInUse(({ options }: { readonly options: EdgeProxyOptions }) => options.binding === undefined) },
  errors: edgeProxyErrors,
  settings: edgeProxySettings,
  options: edgeProxyOptions,
  setup(ctx) {
    const { host, log, options, settings } = ctx
    const file = join(host.app.dataDir, 'edge.db')
    let config: EdgeConfig | undefined
    let own: SqliteBinding | undefined
    let handle: EdgeHandler | undefined
    ctx.describe(() => `${settings.EDGE_REMOTE_MODE}, ${options.binding === undefined ? 'SQLite' : 'binding of the app'}`)
    ctx.routes(
      edgeProxyRoutes(() => {
        if (handle === undefined) throw edgeProxyErrors.EDGE_PROXY_CONFIG('it has not started yet')
        return handle
      }),
    )
    const bytes = Buffer.byteLength(settings.EDGE_REMOTE_SECRET || settings.APP_KEY)
    const short = `${settings.EDGE_REMOTE_SECRET ? 'EDGE_REMOTE_SECRET' : 'APP_KEY'} has ${bytes} bytes; production requires ${minSecretBytes} or more`
    ctx.onCheck(() => {
      if (bytes === 0) throw edgeProxyErrors.EDGE_PROXY_CONFIG(noSecret)
      if (bytes < minSecretBytes && host.app.production) throw edgeProxyErrors.EDGE_PROXY_CONFIG(short)
    })
    ctx.onStart(async () => {
      config = await readConfig(workerSettings(settings)).catch((error: unknown) => {
        throw error instanceof EdgeConfigError ? edgeProxyErrors.EDGE_PROXY_CONFIG(error.message) : error
      })
      if (bytes < minSecretBytes) log.warn(short)
      for (const warning of config.registry.warnings) log.warn(`EDGE_STATEMENTS_JSON: ${warning}`)
      if (settings.EDGE_REMOTE_MODE === 'registry' && config.registry.statements.length === 0)
        log.warn('no statements are registered, so the edge proxy refuses all requests; set EDGE_STATEMENTS_JSON or EDGE_REMOTE_MODE=sql')
    })
    ctx.onStart(async () => {
      const { binding } = options
      if (binding === undefined)
        own = await openSqliteBinding(file, (why) => log.error({ why }, 'the database process exited unexpectedly; restarting it'))
      handle = createHandler({
        db: binding === undefined ? (own as SqliteBinding) : timedDatabase(binding),
        config: config as EdgeConfig,
        onError: (error, requestId) =>
          log.error({ requestId, code: error.code, cause: messageOf(error.cause) }, 'edge proxy request failed'),
      })
    })
    ctx.onStop(async () => {
      handle = undefined
      await own?.close()
    })
  },
})
