import { definePlugin, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { workersService } from 'zin/plugins/workers'
import { assemble } from './assemble.js'
import { resourceKinds, resourceReport } from './attention.js'
import { resourceCommands } from './cli.js'
import { resourcesService } from './contract.js'
import { resourceErrors } from './errors.js'
import { resourceMonitoring } from './feature.js'
import { resourceHooks } from './hooks.js'
import { createResources as createResourcesTable } from './migrations/0001-create-resources.js'
import { resourcesOptions } from './options.js'
import { resourceRoutes } from './routes.js'
import { resourceSettings } from './settings.js'

export type { AlertChange } from './alerts/alerts.js'
export type { NodeAlert, ResourceHistory, ResourceHistoryOptions, Resources, ResourceTrend } from './contract.js'
export { resourcesService } from './contract.js'
export type { ResourceAlert, ResourceHooks } from './hooks.js'
export type { ResourcesOptions } from './options.js'
export type { ActiveAlert, AlertRule, ResourceSnapshot, ResourceUsage } from './snapshot.js'

/** Intervals for retrying failed reads and for deleting old history, in ms. */
const retryMs = 30_000
const pruneMs = 600_000

/** Monitors the resource usage of nodes, with history, alerts and trends. */
export const resources = definePlugin({
  name: 'resources',
  version: '1.0.0',
  description: 'Resource usage of the nodes, with history, alerts and forecasts',
  dependencies: ['ops'],
  uses: {
    cluster: clusterService,
    database: optional(databaseService),
    decisions: decisionsService,
    kv: kvService,
    workers: workersService,
  },
  provides: [resourcesService],
  hooks: resourceHooks,
  attention: resourceKinds,
  errors: resourceErrors,
  settings: resourceSettings,
  options: resourcesOptions,
  setup(ctx) {
    const { services } = ctx
    if (services.database !== undefined) ctx.migration(createResourcesTable)
    const { control, prune, service } = assemble({ ...ctx, onAlert: ctx.hooks.slot('onResourceAlert') })
    ctx.provide(resourcesService, service)
    ctx.describe(() => (service.monitoring.running ? 'running' : 'stopped'))
    if (!services.workers.enabled) return
    ctx.routes(resourceRoutes(service))
    ctx.commands(resourceCommands)
    ctx.hooks.on('collectAttention', (where) => (where === 'app' ? resourceReport(service) : { facts: [] }))
    ctx.hooks.on('onWorkerChange', async ({ action, after, before }) => {
      if (action !== 'create' && action !== 'update' && action !== 'remove') return
      const [had, has] = [before, after].map((one) => one !== null && resourceMonitoring.isOn(one.record))
      if (had !== has) await control.workerChanged(has === true)
    })
    ctx.onStart(() => ctx.onStop(services.workers.offerFeature(resourceMonitoring)))
    ctx.onReady(async () => {
      ctx.onStop(control.follow())
      await control.refresh()
      ctx.every(retryMs, () => control.refresh())
      ctx.every(pruneMs, prune)
    })
    ctx.onStop(() => control.close())
  },
})
