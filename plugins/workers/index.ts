import { isAbsolute } from 'node:path'
import { codePath, definePlugin, EventStreams, optional, type RouteContext } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { decisionsService } from 'zin/plugins/decisions'
import { healthChecksService } from 'zin/plugins/health'
import { kvService } from 'zin/plugins/kv'
import { type Ops, opsService } from 'zin/plugins/ops'
import { queuesService, type Viewer } from 'zin/plugins/queues'
import { assemble } from './assemble.js'
import { countsFact, workerKinds, workersReport } from './attention.js'
import { workerCommands } from './cli.js'
import { workersService } from './contract.js'
import { configuration } from './control/declarations.js'
import { workerErrors } from './errors.js'
import { workerHooks } from './hooks.js'
import { workerMetrics } from './metrics.js'
import { migrateWorkerCommand } from './migrate.js'
import { workersOptions } from './options.js'
import { routesOf } from './routes/index.js'
import type { Access } from './routes/shared.js'
import { workerSettings } from './settings.js'

export type * from './contract.js'
export { workersService } from './contract.js'
export type * from './control/change.js'
export type { CheckReport, HealthCheckResult, WorkerHealthCheck } from './health/check.js'
export type { HealthReport, HealthTerm, PluginHealthTerm } from './health/score.js'
export type { WorkerHooks } from './hooks.js'
export { isDeferral } from './jobs/deferral.js'
export { flowRootOf } from './jobs/job-plan.js'
export type * from './jobs/types.js'
export type { JobContext, JobMiddleware, JobMiddlewareOptions } from './node/job-middleware.js'
export type { VersionRoute } from './node/version-routes.js'
export type { WorkersOptions } from './options.js'
export type { ProcessorResolver, WorkerProcessor } from './processors/processor.js'
export type { ParsedExtension, WorkerFeature, WorkerFeatureSpec } from './record/define-feature.js'
export { defineWorkerFeature } from './record/define-feature.js'
export type {
  Backoff,
  CreateWorker,
  FeatureName,
  Features,
  Infrastructure,
  Isolation,
  PersistenceDriver,
  Placement,
  RateLimit,
  RefusedVersion,
  RegisterVersion,
  Scaled,
  UpdateWorker,
  VersionRecord,
  VersionRefusal,
  WorkerJobOptions,
  WorkerRecord,
} from './record/record.js'
export { featureNames } from './record/record.js'
export type { AttemptCounts, KnownNode, NodeStatus, WorkerCounts, WorkerState } from './shared/contract.js'
export { type DurationBuckets, durationBounds, percentile, sumDurations } from './shared/durations.js'
export type { Desired } from './store/contract.js'

const flushMs = 1_000
const sweepMs = 60_000

/** Background workers: records with a desired state, and the consumers of this node. */
export const workers = definePlugin({
  name: 'workers',
  version: '1.0.0',
  description: 'Background workers: create, start, stop, restart, and their jobs',
  // The worker API runs code, so it must not exist without the access guard.
  dependencies: ['ops'],
  uses: {
    cluster: clusterService,
    queues: queuesService,
    ops: opsService,
    database: optional(databaseService),
    decisions: optional(decisionsService),
    health: optional(healthChecksService),
    kv: optional(kvService),
  },
  provides: [workersService],
  packages: { mongodb: { when: 'MONGODB_URL is set', needed: ({ settings }) => settings.MONGODB_URL !== '', added: false } },
  hooks: workerHooks,
  attention: workerKinds,
  errors: workerErrors,
  settings: workerSettings,
  options: workersOptions,
  // Running jobs decide how long a stop takes; the app's own shutdown deadline still holds.
  deadlines: { stop: 600_000 },
  setup(ctx) {
    const { options, settings, host, services } = ctx
    const app = host.app.codeDir
    const folders = (options.processorRoots ?? ['processors']).map((root) => codePath(host.app, root))
    const inCode = (path: string): string => (isAbsolute(path) ? codePath(host.app, path) : path)
    const parts = assemble({ ...ctx, roots: { app, folders, inCode } })
    ctx.provide(workersService, parts.workers)
    for (const [name, processor] of Object.entries(options.processors ?? {})) {
      if (typeof processor === 'function') parts.registry.register(name, processor)
      else parts.registry.registerPath(name, processor)
    }
    for (const worker of options.declare ?? []) parts.workers.as(configuration).declare(worker)
    for (const migration of parts.migrations) ctx.migration(migration)
    for (const [url, processor] of Object.entries(options.prebuilt ?? {})) parts.registry.registerPrebuilt(url, processor)
    for (const [name, check] of Object.entries(options.healthChecks ?? {})) parts.registry.registerHealthCheck(name, check)
    if (settings.WORKERS_ENABLED) {
      const streams = new EventStreams()
      ctx.hooks.on('onClose', () => streams.closeAll())
      ctx.onStop(() => streams.closeAll())
      const { ops, queues } = services
      const access: Access = {
        demand: (request, permission) => ops.demand(request, permission),
        viewer: (request) => viewerOf(ops, request),
        views: () => queues.views,
      }
      ctx.routes(routesOf(parts.workers, streams, access, ctx.clock))
      ctx.commands([...workerCommands, migrateWorkerCommand({ app: host.app, database: services.database })])
    }
    const { data } = parts
    ctx.hooks.on('collectData', () => ({ tables: parts.nodeTables, ...(data !== undefined && { open: () => data }) }))
    ctx.hooks.on('collectFatalFacts', (error) => ({ ...parts.crash(error) }))
    ctx.hooks.on('collectMetrics', () => workerMetrics(parts.workers.local.list()))
    if (settings.WORKERS_ENABLED) {
      ctx.hooks.on('collectAttention', (where) =>
        where === 'app'
          ? workersReport({
              workers: parts.workers,
              queues: services.queues,
              statuses: parts.statuses,
              rule: { global: settings.WORKER_AUTO_START, driver: settings.WORKER_PERSISTENCE_DRIVER },
              now: () => ctx.clock.now(),
            })
          : { facts: countsFact(parts.countsFault) },
      )
    }
    ctx.onStart(async () => {
      await parts.prepare()
      const remove = services.health?.register({ name: 'workers', kind: 'readiness', critical: false, run: () => parts.checkWorkers() })
      if (remove !== undefined) ctx.onStop(remove)
    })
    ctx.onReady(async () => {
      await parts.join()
      await parts.declare()
      parts.boot()
      ctx.every(parts.pollMs, () => parts.poll())
      ctx.every(flushMs, () => parts.flush())
      ctx.every(parts.stalledMs, () => parts.checkStalled())
      ctx.every(parts.watchMs, () => parts.watch())
      ctx.every(sweepMs, () => parts.sweep())
    })
    ctx.onStop(() => parts.close())
  },
})

/** A caller that has passed the guard of operator routes, as a viewer of payloads. */
function viewerOf(ops: Ops, ctx: RouteContext): Viewer {
  return {
    actor: ops.access(ctx)?.actor ?? { kind: 'plugin', id: 'workers', via: 'plugin' },
    may: (permission) => ops.allow(ctx, permission),
    granted: (permission) => ops.grants(ctx, permission),
    // Operators see all queues.
    sees: () => true,
  }
}
