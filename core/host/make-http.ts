import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ZinConfig } from '../config/define.js'
import type { HookBus } from '../hooks/bus.js'
import { HttpApp } from '../http/app.js'
import { docsRoutes } from '../http/docs-routes.js'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import type { AppSettings } from './app-settings.js'
import type { HostView } from './view.js'

export interface HttpSources {
  readonly config: ZinConfig
  readonly settings: AppSettings
  readonly app: HostView['app']
  readonly log: Logger
  readonly clock: Clock
  readonly bus: HookBus
}

/** The HTTP side of a host as its configuration has it, with the routes of the core. */
export function makeHttp({ config, settings, app, log, clock, bus }: HttpSources): HttpApp {
  const requestError = bus.slot('onRequestError')
  const http = new HttpApp({
    log,
    clock,
    production: app.production,
    bodyLimit: config.app?.bodyLimit ?? 1_048_576,
    trustedProxies: config.app?.trustedProxies ?? 0,
    allowedHosts: app.allowedHosts,
    info: { title: app.name, version: versionOf(app.rootDir) },
    logRequests: settings.LOG_REQUESTS,
    onError: (error, failed) => requestError.call(error, failed),
    transformErrorBody: bus.slot('transformErrorBody'),
  })
  for (const route of docsRoutes(http)) http.addRoute('core', route)
  return http
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

/** OpenAPI requires one. */
const noVersion = '0.0.0'
