import { definePlugin, messageOf, optional } from 'zin'
import { opsService } from 'zin/plugins/ops'
import { FailureThrottle, queueMonitorService } from 'zin/plugins/queue-monitor'
import { workersService } from 'zin/plugins/workers'
import { isLoopback, urlOf } from './addresses.js'
import { consoleCommands } from './cli.js'
import { loadModules } from './contributions.js'
import { consoleErrors } from './errors.js'
import { consoleHooks } from './hooks.js'
import { consoleOptions } from './options.js'
import { consoleRoutes } from './routes.js'
import { ConsoleService } from './service.js'
import { WorkerSearch } from './worker-search.js'

export type * from './contract.js'
export type { ConsoleHooks } from './hooks.js'
export type { ConsoleOptions } from './options.js'

/** The web console under `/console`: queues, jobs, workers and automatic decisions. */
export const webConsole = definePlugin({
  name: 'console',
  version: '1.0.0',
  description: 'The web console under /console',
  dependencies: ['queue-monitor'],
  uses: {
    monitor: queueMonitorService,
    ops: opsService,
    workers: optional(workersService),
  },
  hooks: consoleHooks,
  errors: consoleErrors,
  options: consoleOptions,
  setup(ctx) {
    const { clock, hooks, host, log, options, services } = ctx
    const service = new ConsoleService({ host, options, ops: () => services.ops, monitor: () => services.monitor })
    ctx.routes(consoleRoutes(service, new WorkerSearch(() => services.workers)))
    ctx.commands(consoleCommands)
    ctx.describe(() => '/console')
    // The router does not match a trailing slash, but people type one.
    ctx.use((request, next) => (request.path === '/console/' ? request.redirect(`/console${request.search}`) : next()))
    ctx.onReady(async () => {
      service.setModules(await loadModules(hooks.slot('collectConsole'), (error) => log.error(messageOf(error))))
    })

    const { auth, port, readOnly } = options
    if (port === undefined) return
    ctx.onCheck(() => {
      const { bind, production } = host.app
      if (auth !== undefined) return
      const fail = (why: string): never => {
        throw consoleErrors.CONSOLE_AUTH_REQUIRED(bind.host, why)
      }
      if (!isLoopback(bind.host)) fail('other machines can reach it')
      if (production) fail('the app runs in production')
      if (services.ops.mode === 'required') fail('the app requires credentials of operators (OPS_AUTH)')
    })
    ctx.hooks.on('onReady', async (address) => {
      if (address === undefined) return
      const { startStandalone } = await import('./standalone-server.js')
      const authorize = hooks.slot('authorizeCommand')
      const server = await startStandalone({
        host: address.host,
        port,
        target: () => urlOf(address),
        appName: host.app.name,
        index: () => service.index(),
        file: (name) => service.file(name),
        auth: auth && { user: auth, throttle: new FailureThrottle(clock) },
        readOnly,
        authorize: (request) => authorize.call(request),
        onError: (error, request) => log.error({ err: error, request }, 'a request on the port of the console failed'),
      })
      log.info(`the console is at ${server.url}/console`)
      ctx.onStop(() => server.close())
    })
  },
})
