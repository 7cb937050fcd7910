import { definePlugin, joinErrors } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { assemble } from './assemble.js'
import { autoscaleService } from './contract.js'
import { autoscaleErrors } from './errors.js'
import { autoScaling, datacenter } from './feature.js'
import { leastKeyBytes, scalerMiddleware } from './guard.js'
import { autoscaleHooks } from './hooks.js'
import { autoscaleMetrics } from './metrics.js'
import { autoscaleOptions } from './options.js'
import { isTimeZone } from './recommend/off-peak.js'
import { topologyProblem } from './regions/topology.js'
import { autoscaleRoutes } from './routes.js'
import { autoscaleSettings } from './settings.js'

export type { Autoscale, ScalingStatus } from './contract.js'
export { autoscaleService } from './contract.js'
export type { AutoScalerConfig } from './feature.js'
export type { AutoscaleHooks, FailoverEvent, ScaleEvent } from './hooks.js'
export type { AutoscaleOptions } from './options.js'
export type { Topology } from './regions/topology.js'

const tickMs = 1_000

/** Scales workers by their load, and moves them out of lost regions. */
export const autoscale = definePlugin({
  name: 'autoscale',
  version: '1.0.0',
  description: 'Scales workers by their load, and moves them out of lost regions',
  uses: {
    cluster: clusterService,
    decisions: decisionsService,
    kv: kvService,
    ops: opsService,
    queues: queuesService,
    workers: workersService,
  },
  provides: [autoscaleService],
  hooks: autoscaleHooks,
  errors: autoscaleErrors,
  settings: autoscaleSettings,
  options: autoscaleOptions,
  setup(ctx) {
    const { options, services, settings } = ctx
    const key = settings.AUTOSCALE_KEY.trim()
    const { current, leader, service } = assemble({ ...ctx, onScale: ctx.hooks.slot('onScale'), onFailover: ctx.hooks.slot('onFailover') })
    ctx.provide(autoscaleService, service)
    ctx.describe(() => (settings.WORKER_AUTO_SCALING_ENABLED ? (settings.WORKER_AUTO_SCALING_DRY_RUN ? 'dry run' : 'on') : 'off'))
    ctx.onCheck(() => {
      const { regions, timeZone } = options
      const problem = regions === undefined ? undefined : topologyProblem(regions)
      const keyBytes = Buffer.byteLength(key)
      const errors = [
        ...(key !== '' && keyBytes < leastKeyBytes && ctx.host.app.production
          ? [autoscaleErrors.AUTOSCALE_KEY_TOO_SHORT(keyBytes, leastKeyBytes)]
          : []),
        ...(isTimeZone(timeZone) ? [] : [autoscaleErrors.AUTOSCALE_MISCONFIGURED('timeZone', `"${timeZone}" is not a time zone`)]),
        ...(problem === undefined ? [] : [autoscaleErrors.AUTOSCALE_MISCONFIGURED('regions', problem)]),
      ]
      if (errors.length > 0) throw joinErrors(errors)
    })
    if (!services.workers.enabled) return
    ctx.hooks.on('collectMetrics', async () => autoscaleMetrics(await current()))
    if (key !== '') ctx.middleware(scalerMiddleware(key, () => services.ops))
    ctx.routes(autoscaleRoutes(service, key === '' ? 'ops' : 'scaler'))
    ctx.onStart(() => {
      for (const feature of [autoScaling, datacenter]) ctx.onStop(services.workers.offerFeature(feature))
    })
    ctx.onReady(() => {
      leader.start()
      ctx.every(tickMs, () => leader.tick())
    })
    ctx.onStop(() => leader.stop())
  },
})
