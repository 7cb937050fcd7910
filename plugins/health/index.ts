import { definePlugin, optional } from 'zin'
import { signedRequestsService } from 'zin/plugins/bulletproof'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { clockReport, failingChecks, healthKinds } from './attention.js'
import { ClockWatch } from './clock-watch.js'
import { clockSources, otherOffsets, publishOffsets } from './clocks.js'
import { type HealthClock, healthChecksService, healthClockService } from './contract.js'
import { healthErrors } from './errors.js'
import { Health } from './health.js'
import { healthOptions } from './options.js'
import { addOwnChecks } from './own-checks.js'
import { healthRoutes } from './routes.js'
import { CheckBoard } from './service.js'

import { healthSettings } from './settings.js'

export type { CheckKind, HealthCheck, HealthChecks, HealthClock, HealthMeasurement } from './contract.js'
export { healthChecksService, healthClockService } from './contract.js'
export type { HealthOptions } from './options.js'

const compareEveryMs = 60_000
/** Window of signed requests where none are accepted. */
const defaultWindowMs = 300_000

/** Health, liveness, readiness and startup probes. */
export const health = definePlugin({
  name: 'health',
  version: '1.0.0',
  description: 'Probes: overall health, liveness, readiness, startup',
  uses: {
    cluster: optional(clusterService),
    database: optional(databaseService),
    kv: optional(kvService),
    signed: optional(signedRequestsService),
  },
  provides: [healthChecksService, healthClockService],
  attention: healthKinds,
  errors: healthErrors,
  settings: healthSettings,
  options: healthOptions,
  setup(ctx) {
    const { options, services, host, clock, log } = ctx
    const { failAfter, passAfter, cacheMs = host.app.production ? 1000 : 0 } = options
    const board = new CheckBoard({ failAfter, passAfter, cacheMs }, clock, log)
    addOwnChecks(board, ctx)
    const watch = new ClockWatch({
      clock,
      log,
      sources: () => clockSources(services),
      publish: (offsets) => publishOffsets(services, offsets),
      others: () => otherOffsets(services),
      windowMs: () => services.signed?.windowMs ?? defaultWindowMs,
    })
    board.add({ name: 'clock', kind: 'readiness', run: () => watch.measurement() }, 'critical', false)
    const healthClock: HealthClock = {
      get problem() {
        const { report } = watch
        return report === undefined || report.state === 'right' ? undefined : { text: report.text, isWrong: report.state === 'wrong' }
      },
    }
    ctx.provide(healthClockService, healthClock)
    ctx.hooks.on('collectAttention', async (where) => {
      if (where === 'process') {
        return clockReport(watch, services.cluster?.node.id ?? 'this process')
      }
      return { facts: failingChecks(await board.run(({ kind }) => kind !== 'startup')) }
    })
    ctx.onReady(() => {
      if (host.roles.size === 0) return
      void watch.compare()
      ctx.every(compareEveryMs, () => watch.compare())
    })
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
