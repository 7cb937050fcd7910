import { definePlugin, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { queuesService } from 'zin/plugins/queues'
import { defineWorkerFeature, workersService } from 'zin/plugins/workers'
import { checkWorker } from './check.js'
import { workerHealthCommands } from './cli.js'
import { workerHealthErrors } from './errors.js'
import { History } from './history.js'
import { workerHealthHooks } from './hooks.js'
import { healthMetrics } from './metrics.js'
import { createHistory } from './migrations/0001-create-history.js'
import { useUnicodeInHistory } from './migrations/0002-use-unicode.js'
import { Monitor } from './monitor.js'
import { workerHealthOptions } from './options.js'
import { workerHealthRoutes } from './routes.js'
import { workerHealthSettings } from './settings.js'
import { databaseHistory } from './store/db.js'
import { memoryHistory } from './store/memory.js'

export type { WorkerHealthHooks } from './hooks.js'
export type { WorkerHealthOptions } from './options.js'
export type { CheckOutcome, HealthSample } from './outcome.js'

const healthMonitoring = defineWorkerFeature({ plugin: 'worker-health', feature: 'healthMonitoring' })

/** Intervals for starting due checks and for deleting old history, in ms. */
const tickMs = 250
const pruneMs = 600_000

/** Health checks of workers, built-in and custom, with history. Consecutive failures make a worker FAILED. */
export const workerHealth = definePlugin({
  name: 'worker-health',
  version: '1.0.0',
  description: 'Health checks of workers with history; consecutive failures make a worker FAILED',
  dependencies: ['ops'],
  uses: { cluster: clusterService, workers: workersService, queues: queuesService, database: optional(databaseService) },
  hooks: workerHealthHooks,
  errors: workerHealthErrors,
  settings: workerHealthSettings,
  options: workerHealthOptions,
  setup(ctx) {
    const { clock, log, options, services, settings } = ctx
    const { criticalCallback, failureThreshold, historyHours, timeoutMs } = options
    const { database } = services
    const intervalMs = settings.WORKER_HEALTH_CHECK_INTERVAL * 1000
    if (database !== undefined) for (const migration of [createHistory, useUnicodeInHistory]) ctx.migration(migration)
    const history = new History({
      store: database === undefined ? memoryHistory() : databaseHistory(database),
      workers: () => services.workers,
      cluster: services.cluster,
      clock,
      log,
      intervalMs,
      keepMs: historyHours * 3_600_000,
    })
    const onHealthCheck = ctx.hooks.slot('onHealthCheck')
    const monitor = new Monitor({
      local: () => services.workers.local,
      check: (worker, earlier) => checkWorker(worker, earlier, { clock, timeoutMs, ping: (signal) => services.queues.ping(signal) }),
      clock,
      log,
      intervalMs,
      threshold: failureThreshold,
      onResult: async (worker, outcome) => {
        if (onHealthCheck.active) onHealthCheck.call(worker, outcome)
        await history.add(worker, outcome)
      },
      onCritical: (worker, outcome) => criticalCallback?.(worker, outcome),
      criticalMs: timeoutMs,
      random: Math.random,
    })
    if (!services.workers.enabled) return
    ctx.hooks.on('purgeData', async (before) => {
      await history.purge(before)
      return ['worker-health.checks']
    })
    ctx.hooks.on('collectMetrics', () => healthMetrics(monitor.checked))
    ctx.routes(workerHealthRoutes(() => services.workers, history))
    ctx.commands(workerHealthCommands)
    ctx.onStart(() => {
      const withdraw = services.workers.offerFeature(healthMonitoring)
      ctx.onStop(withdraw)
    })
    ctx.onReady(() => {
      history.open()
      ctx.every(tickMs, () => monitor.tick())
      ctx.every(intervalMs, () => history.collect())
      ctx.every(pruneMs, () => history.prune())
    })
    ctx.onStop(async () => {
      await monitor.idle()
      await history.close()
    })
  },
})
