import type { Context } from 'koa'
import { definePlugin, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { decisionsService } from 'zin/plugins/decisions'
import { healthChecksService } from 'zin/plugins/health'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { tooShort } from './access/credentials.js'
import { pluginScope } from './access/scope.js'
import { assemble } from './assemble.js'
import type { Asker } from './attention/attention.js'
import { attentionCommands } from './attention/cli.js'
import { monitorKinds } from './attention/facts.js'
import { queueMonitorCommands } from './cli.js'
import { attentionService, queueMonitorService } from './contract.js'
import { monitorErrors } from './errors.js'
import { queueMonitorHooks } from './hooks.js'
import { queueMetrics } from './metrics.js'
import { queueMonitorOptions } from './options.js'
import { attentionRoutes } from './routes/attention.js'
import { graphqlRoutes } from './routes/graphql.js'
import { manageRoutes } from './routes/manage.js'
import { readRoutes } from './routes/reads.js'
import { webhookRoutes } from './routes/webhooks.js'
import { StatsStreams } from './stats-stream.js'
import { webhookCommands } from './webhooks/cli.js'

export type { MonitorPermission, Scope } from './access/scope.js'
export { FailureThrottle } from './access/throttle.js'
export type { QueueAlert } from './alerts/alerts.js'
export type { AlertRule } from './alerts/rules.js'
export type { Acknowledgement, AttentionItem, AttentionList, NotChecked } from './attention/item.js'
export type * from './contract.js'
export { attentionService, queueMonitorService } from './contract.js'
export type { Delivery, DeliveryEvent, DeliveryState } from './deliveries/delivery.js'
export type { AttentionChange, MonitorAction, QueueMonitorHooks, WebhookChange } from './hooks.js'
export type { QueueMonitorOptions } from './options.js'
export type { EndpointView } from './webhooks/endpoint.js'

/** Interval at which job attempts are stored, in ms. */
const attemptsMs = 1_000

/** Interval at which statistics are pushed to streams, in ms. */
const pushMs = 2_000

/** Statistics, jobs and job actions for all queues of the app. */
export const queueMonitor = definePlugin({
  name: 'queue-monitor',
  version: '1.0.0',
  description: 'Statistics, jobs and operator actions for all queues',
  dependencies: ['ops'],
  uses: {
    cluster: clusterService,
    decisions: optional(decisionsService),
    health: optional(healthChecksService),
    kv: kvService,
    ops: opsService,
    queues: queuesService,
    workers: optional(workersService),
  },
  provides: [queueMonitorService, attentionService],
  packages: {
    graphql: {},
    'graphql-http': {},
    nodemailer: { when: '`monitor.smtp` is set', needed: ({ options }) => options.monitor.smtp !== undefined, added: false },
  },
  hooks: queueMonitorHooks,
  attention: monitorKinds,
  errors: monitorErrors,
  options: queueMonitorOptions,
  setup(ctx) {
    const { options, services } = ctx
    const parts = assemble(ctx)
    const {
      actions,
      alerts,
      attention,
      attempts,
      attemptHistory,
      deletes,
      deliveryLog,
      endpoints,
      guard,
      monitor,
      operations,
      sampler,
      webhooks,
    } = parts
    ctx.provide(queueMonitorService, monitor)
    const asApp = pluginScope('app')
    ctx.provide(attentionService, { list: (scope) => attention.list({ scope: scope ?? asApp, all: scope === undefined }) })
    ctx.onCheck(() => {
      const short = ctx.host.app.production ? tooShort(Object.keys(options.apiKeys)) : undefined
      if (short !== undefined) throw monitorErrors.MONITOR_KEY_TOO_SHORT(short.length, short.least)
    })
    ctx.onCheck(parts.check)
    ctx.middleware(guard.middleware)
    const scopeOf = guard.scope.bind(guard)
    const askerOf = (request: Context): Asker => ({ scope: guard.scope(request), all: services.ops.access(request) !== undefined })
    const streams = new StatsStreams(monitor)
    ctx.hooks.on('onClose', () => streams.closeAll())
    ctx.onStop(() => streams.closeAll())
    ctx.routes([
      ...readRoutes(monitor, alerts, streams, scopeOf),
      ...manageRoutes({ actions, deletes, operations }, scopeOf),
      ...webhookRoutes(endpoints, deliveryLog, scopeOf),
      ...attentionRoutes(attention, askerOf),
      ...graphqlRoutes(monitor, ctx.host.app.production, scopeOf),
    ])
    ctx.commands([...queueMonitorCommands, ...webhookCommands, ...attentionCommands])
    // Only one node exports queue metrics; otherwise every node would export the same series.
    ctx.hooks.on('collectMetrics', async () => (sampler.leads ? queueMetrics(await monitor.stats()) : []))
    ctx.onStart(() => {
      ctx.onStop(services.queues.views.redactAlso(options.redact))
      if (services.workers?.enabled) {
        ctx.hooks.on('onAttemptEnd', (end) => attemptHistory.ended(end))
        ctx.every(attemptsMs, () => attemptHistory.flush())
        ctx.hooks.on('afterJobsPurge', (queue, jobs) => attemptHistory.forget(queue, jobs))
        ctx.onStop(() => attemptHistory.flush())
      }
      const stop = services.workers?.enabled ? services.workers.events(({ type }) => type !== 'status' && attempts.forget()) : undefined
      if (stop !== undefined) ctx.onStop(stop)
    })
    services.health?.register({
      name: 'webhooks',
      kind: 'info',
      run() {
        const { length } = webhooks.uncovered
        if (length > 0) throw new Error(`events of ${length} queues are not delivered; increase monitor.delivery.queues`)
        return null
      },
    })
    ctx.onReady(() => {
      ctx.every(pushMs, () => streams.push())
      if (options.monitor.enabled === false || ctx.host.roles.size === 0) return
      sampler.open()
      webhooks.open()
      const interval = options.monitor.interval ?? 30_000
      ctx.every(interval, () => sampler.sample())
      ctx.every(interval, () => webhooks.refresh())
      ctx.every(parts.attentionMs, () => attention.tick())
    })
    ctx.onStop(async () => {
      await webhooks.close()
      await operations.close()
      await sampler.close()
    })
  },
})
