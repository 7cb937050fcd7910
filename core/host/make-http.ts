import type { ZinConfig } from '../config/define.js'
import type { HookBus } from '../hooks/bus.js'
import { HttpApp } from '../http/app.js'
import { docsRoutes } from '../http/docs-routes.js'
import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import type { HostView } from './view.js'

/** The HTTP side of a host as its configuration has it, with the routes of the core. */
export function makeHttp(config: ZinConfig, app: HostView['app'], log: Logger, clock: Clock, bus: HookBus): HttpApp {
  const requestError = bus.slot('onRequestError')
  const http = new HttpApp({
    log,
    clock,
    production: app.production,
    bodyLimit: config.app?.bodyLimit ?? 1_048_576,
    trustedProxies: config.app?.trustedProxies ?? 0,
    allowedHosts: app.allowedHosts,
    info: { title: app.name, version: '1.0.0' },
    onError: (error, failed) => requestError.call(error, failed),
    transformErrorBody: bus.slot('transformErrorBody'),
  })
  for (const route of docsRoutes(http)) http.addRoute('core', route)
  return http
}
