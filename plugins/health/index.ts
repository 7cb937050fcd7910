import { definePlugin, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { healthChecksService } from './contract.js'
import { healthErrors } from './errors.js'
import { Health } from './health.js'
import { healthOptions } from './options.js'
import { addOwnChecks } from './own-checks.js'
import { healthRoutes } from './routes.js'
import { CheckBoard } from './service.js'

import { healthSettings } from './settings.js'

export type { CheckKind, HealthCheck, HealthChecks } from './contract.js'
export { healthChecksService } from './contract.js'
export type { HealthOptions } from './options.js'

/** Health, liveness, readiness and startup probes. */
export const health = definePlugin({
  name: 'health',
  version: '1.0.0',
  description: 'Probes: overall health, liveness, readiness, startup',
  uses: { database: optional(databaseService), kv: optional(kvService) },
  provides: [healthChecksService],
  errors: healthErrors,
  settings: healthSettings,
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
