import { definePlugin, defineSettings, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { CheckBoard } from './board.js'
import { healthChecksService } from './checks.js'
import { healthOptions } from './options.js'
import { addOwnChecks } from './own-checks.js'
import { healthRoutes } from './routes.js'
import { Health } from './service.js'

export type { CheckKind, HealthCheck, HealthChecks } from './checks.js'
export { healthChecksService } from './checks.js'
export type { HealthOptions } from './options.js'

/** Health, liveness, readiness and startup probes. */
export const health = definePlugin({
  name: 'health',
  version: '1.0.0',
  description: 'Probes: overall health, liveness, readiness, startup',
  uses: { database: optional(databaseService), kv: optional(kvService) },
  provides: [healthChecksService],
  settings: defineSettings({
    CACHE_DRIVER: {
      type: 'enum',
      default: 'memory',
      values: ['memory', 'kv'],
      summary: 'Where the app caches; `kv` makes readiness probe the kv store',
    },
  }),
  options: healthOptions,
  setup(ctx) {
    const { options, services, host, clock, log } = ctx
    const { failAfter, passAfter, cacheMs = host.app.production ? 1000 : 0 } = options
    const board = new CheckBoard({ failAfter, passAfter, cacheMs }, clock, log)
    addOwnChecks(board, ctx)
    ctx.provide(healthChecksService, board)
    ctx.routes(
      healthRoutes(
        new Health({
          board,
          clock,
          environment: host.app.environment,
          state: () => host.state,
          hasDatabase: () => services.database !== undefined,
          showChecks: options.showChecks,
          uptime: () => globalThis.process?.uptime?.() ?? 0,
        }),
      ),
    )
    ctx.onStop(() => board.close())
  },
})
