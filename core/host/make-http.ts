import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorTable } from '../errors.js'
import type { HookBus } from '../hooks/bus.js'
import { HttpApp } from '../http/app.js'
import { docsRoutes } from '../http/docs-routes.js'
import type { ErrorInfo } from '../http/openapi.js'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import type { AppSettings } from './app-settings.js'
import { coreErrors } from './core-errors.js'
import type { ZinConfig } from './define-config.js'
import type { AnyPluginSpec } from './plugin.js'
import type { HostView } from './view.js'

export interface HttpSources {
  readonly config: ZinConfig
  readonly settings: AppSettings
  readonly app: HostView['app']
  readonly log: Logger
  readonly clock: Clock
  readonly bus: HookBus
  readonly plugins: readonly AnyPluginSpec[]
}

/** Creates the HTTP app of a host from its configuration, with the routes of the core. */
export function makeHttp({ config, settings, app, log, clock, bus, plugins }: HttpSources): HttpApp {
  const requestError = bus.slot('onRequestError')
  const http = new HttpApp({
    log,
    clock,
    production: app.production,
    bodyLimit: config.app?.bodyLimit ?? 1_048_576,
    rootDir: app.rootDir,
    trustedProxies: config.app?.trustedProxies ?? 0,
    allowedHosts: app.allowedHosts,
    info: { title: app.name, version: versionOf(app.rootDir) },
    errors: errorsOf(plugins),
    logRequests: settings.LOG_REQUESTS,
    responders: config.responders ?? {},
    onError: (error, failed) => requestError.call(error, failed),
    transformErrorBody: bus.slot('transformErrorBody'),
    requestEnd: bus.slot('onRequestEnd'),
  })
  for (const route of docsRoutes(http)) http.addRoute('core', route)
  return http
}

/** Collects the errors of the core and the plugins that can appear in a response. */
function errorsOf(plugins: readonly AnyPluginSpec[]): readonly ErrorInfo[] {
  return [{ name: 'core', errors: coreErrors }, ...plugins].flatMap(({ name, errors = {} }) =>
    Object.entries(errors as ErrorTable).flatMap(([code, factory]) => {
      // An invalid declaration stops the boot later.
      const row = factory?.row
      if (row?.status === undefined) return []
      return [{ plugin: name, code, status: row.status, description: [row.when, row.fix].filter((text) => text !== undefined).join('. ') }]
    }),
  )
}

/** The version in the package.json of the app. */
function versionOf(rootDir: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as { readonly version?: unknown }
    return typeof version === 'string' ? version : noVersion
  } catch {
    return noVersion
  }
}

/** OpenAPI requires a version. */
const noVersion = '0.0.0'
