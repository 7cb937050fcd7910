import { resolve } from 'node:path'
import { definePlugin, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { assemble } from './assemble.js'
import { workerCommands } from './cli.js'
import { workerHooks } from './hooks.js'
import { workersOptions } from './options.js'
import { workerRoutes } from './routes.js'
import { workersService } from './service.js'
import { workerSettings } from './settings.js'

export type { WorkerHooks } from './hooks.js'
export type { WorkersOptions } from './options.js'
export type { CreateWorker, FeatureName, Infrastructure, PersistenceDriver, RateLimit, WorkerRecord } from './record/record.js'
export { workersService } from './service.js'
export type {
  Backoff,
  EnqueueOptions,
  JobCounts,
  JobPlan,
  JobStatus,
  JobView,
  ListOptions,
  Operation,
  OperationOptions,
  OperationResult,
  PriorityName,
  ProcessorResolver,
  WorkerJob,
  WorkerMetrics,
  WorkerPage,
  WorkerProcessor,
  WorkerState,
  WorkerStatus,
  Workers,
  WorkerView,
} from './types.js'

/** How often a process looks for what others changed in shared stores, in ms. */
const syncMs = 5_000

/** Background workers: records with a desired state, and the consumers of this process. */
export const workers = definePlugin({
  name: 'workers',
  version: '1.0.0',
  description: 'Background workers: create, start, stop, restart, and their jobs',
  // The worker API runs code: without the guard it must not be there.
  dependencies: ['ops'],
  uses: { queues: queuesService, ops: opsService, database: optional(databaseService), kv: optional(kvService) },
  provides: [workersService],
  hooks: workerHooks,
  settings: workerSettings,
  options: workersOptions,
  // Running jobs decide how long a stop takes; the app's own shutdown deadline still holds.
  deadlines: { stop: 600_000 },
  setup(ctx) {
    const { options, settings, host, services } = ctx
    const roots = (options.processorRoots ?? ['.']).map((root) => resolve(host.app.rootDir, root))
    const parts = assemble({ ...ctx, roots })
    ctx.provide(workersService, parts.workers)
    for (const [name, processor] of Object.entries(options.processors ?? {})) {
      if (typeof processor === 'function') parts.registry.register(name, processor)
      else parts.registry.registerPath(name, processor)
    }
    for (const migration of parts.migrations) ctx.migration(migration)
    if (settings.WORKERS_ENABLED) {
      ctx.routes(workerRoutes(parts.workers, (request, permission) => services.ops.demand(request, permission)))
      ctx.commands(workerCommands)
    }
    ctx.onStart(parts.prepare)
    ctx.onReady(() => {
      parts.boot()
      if (parts.watches()) ctx.every(syncMs, parts.sync)
    })
    ctx.onStop(parts.close)
  },
})
