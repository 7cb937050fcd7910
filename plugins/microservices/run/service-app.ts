import { join } from 'node:path'
import { type App, type Clock, createApp, type Logger } from 'zin'
import { type AuthOptions, authOf } from '../auth/strategies.js'
import type { ServiceCalls } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { Scopes } from '../tracing/scopes.js'
import { serviceFront } from './front/index.js'
import { loadModule } from './load-module.js'
import { createSchema } from './own-schema.js'

/** What the app of a service needs from the app that starts it. */
export interface ServiceAppOptions {
  readonly definition: ServiceDefinition
  readonly port: number
  readonly app: { readonly name: string; readonly environment: string; readonly dataDir: string }
  /** Environment of the service. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly auth: AuthOptions
  readonly calls: ServiceCalls
  readonly scopes: Scopes
  readonly restartTraces: boolean
  /** Number of its failed starts in this process. */
  readonly failures?: number
  readonly clock: Clock
  readonly log: Logger
}

/** Creates the app of a service and starts it on its port. The caller stops it. */
export async function startServiceApp(options: ServiceAppOptions): Promise<App> {
  const { app, auth, calls, clock, definition, env, log: appLog, port, restartTraces, scopes } = options
  const { name, domain, version, database, tracing, local } = definition
  if (local === undefined) throw new Error(`service "${name}" runs elsewhere`)
  const log = appLog.child({ service: name })
  const config = await loadModule(local.folder, { name, domain, version, port, log, database, services: calls }, options.failures)
  const own = databaseEnv(definition, app, env)
  if (database.migrations) log.info({ service: name, isolation: database.isolation }, noticeOf(name, own.where))
  if (database.isolation === 'isolated' && config.plugins?.some((plugin) => plugin && plugin.spec.name === 'database') === true)
    await createSchema(name, own.env, log)
  const front = serviceFront({
    auth: authOf(definition, auth),
    tracing: { scopes, clock, log, service: name, ...tracing, restart: restartTraces },
  })
  const made = createApp(
    {
      ...config,
      app: { ...config.app, name: own.appName, host: local.host, port },
      plugins: [front, ...(config.plugins ?? [])],
    },
    { env: own.env, log, clock },
  )
  await made.start()
  return made
}

function noticeOf(name: string, where: string): string {
  return `service "${name}" has migrations (database.migrations); its plugin database runs them at startup in ${where}`
}

/**
 * Returns the environment of a service for its isolation. Isolated: a separate data folder, and on a server a separate schema named
 * `<database>_<service>`. Shared: those of the app, under the name of the app.
 */
export function databaseEnv(
  { name, database }: ServiceDefinition,
  app: ServiceAppOptions['app'],
  env: ServiceAppOptions['env'],
): { readonly env: Readonly<Record<string, string | undefined>>; readonly appName: string; readonly where: string } {
  const common = { ...env, NODE_ENV: app.environment }
  if (database.isolation === 'shared') {
    return {
      appName: app.name,
      where: 'the database of the app (shared)',
      env: { ...common, APP_NAME: app.name, ZIN_DATA_DIR: app.dataDir },
    }
  }
  const schema = `${env.DB_DATABASE || 'zin'}_${name.replaceAll('-', '_')}`
  const dataDir = join(app.dataDir, 'services', name)
  return {
    appName: name,
    where: `its own database (isolated): ${env.DB_CONNECTION ? schema : join('services', name, 'app.db')}`,
    env: { ...common, APP_NAME: name, DB_DATABASE: schema, ZIN_DATA_DIR: dataDir },
  }
}
