import { checkedValue, definePlugin, optional } from 'zin'
import { signedRequestsService } from 'zin/plugins/bulletproof'
import { databaseService } from 'zin/plugins/database'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { countFromHooks, followWorkers, type ObservedApp, traceApp } from './assemble.js'
import { metricsService, tracesService } from './contract.js'
import { observabilityErrors } from './errors.js'
import { observabilityFeature } from './feature.js'
import { Collector } from './metrics/collector.js'
import { SeriesLimit } from './metrics/limit.js'
import { MetricsServer } from './metrics/server.js'
import { observabilityOptions } from './options.js'
import { observabilityPackages } from './packages.js'
import { metricsRoutes } from './routes.js'
import { observabilitySettings } from './settings.js'
import { noTraces } from './traces/off.js'
import { otlpTarget, sendsKeyUnencrypted } from './traces/target.js'

export type { MetricFamily, Metrics, MetricsPage, SpanOptions, TraceContext, Traces } from './contract.js'
export { metricsService, tracesService } from './contract.js'
export type { SeriesHistogramSpec, SeriesSpec } from './metrics/series.js'
export { SeriesCounter, SeriesHistogram } from './metrics/series.js'
export type { ObservabilityOptions } from './options.js'

/** Metrics of all plugins for Prometheus, and traces of requests, jobs, queries and calls by OpenTelemetry. */
export const observability = definePlugin({
  name: 'observability',
  version: '1.0.0',
  description: 'Metrics of all plugins for Prometheus, and traces by OpenTelemetry',
  dependencies: ['ops'],
  uses: {
    database: optional(databaseService),
    queues: optional(queuesService),
    signed: optional(signedRequestsService),
    workers: optional(workersService),
  },
  provides: [metricsService, tracesService],
  packages: observabilityPackages,
  errors: observabilityErrors,
  settings: observabilitySettings,
  options: observabilityOptions,
  async setup(ctx) {
    const { host, hooks, log, options, services, settings } = ctx
    const { METRICS_EXPORT_ENABLED: enabled, METRICS_HOST, METRICS_PORT } = settings
    const collector = new Collector({ slot: hooks.slot('collectMetrics'), limit: new SeriesLimit(options.maxSeries), log })
    const server = new MetricsServer({ host: METRICS_HOST, port: METRICS_PORT, page: (accept) => collector.page(accept), log })
    const metrics = {
      enabled,
      get address() {
        return server.address
      },
      collect: () => collector.collect(),
      page: (accept?: string) => collector.page(accept),
    }
    ctx.provide(metricsService, metrics)
    const { database, queues, signed } = services
    const workers = services.workers?.enabled === true ? services.workers : undefined
    if (workers !== undefined) ctx.onStart(() => ctx.onStop(workers.offerFeature(observabilityFeature)))
    if (enabled) ctx.routes(metricsRoutes(metrics))

    const configured = checkedValue(
      ctx,
      () => otlpTarget(settings),
      () => undefined,
    )
    const target = host.roles.size === 0 ? undefined : configured
    const app: ObservedApp = { ...ctx, database, queues, workers, signs: signed !== undefined, collector }
    const facts = workers === undefined || !(enabled || target) ? undefined : followWorkers(app, workers)
    if (enabled || target !== undefined) countFromHooks(app, facts)
    if (target !== undefined && sendsKeyUnencrypted(target)) {
      log.warn({ endpoint: target.endpoint }, 'APM_API_KEY is sent unencrypted: set WORKER_OPENTELEMETRY_ENDPOINT to an https: URL')
    }
    ctx.provide(tracesService, target === undefined ? noTraces : await traceApp(app, target, facts))
    ctx.describe(() => describe(server.address?.port, target?.endpoint))
    if (!enabled || host.roles.size === 0) return
    ctx.onReady(async () => {
      await server.open()
      log.info({ ...server.address }, 'metrics are served at /metrics of this address')
    })
    ctx.onStop(() => server.close())
  },
})

function describe(port: number | undefined, endpoint: string | undefined): string | undefined {
  const parts = [port === undefined ? [] : `metrics on port ${port}`, endpoint === undefined ? [] : `traces to ${endpoint}`].flat()
  return parts.length === 0 ? undefined : parts.join(', ')
}
