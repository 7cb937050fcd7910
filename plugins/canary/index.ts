import { definePlugin, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { defineWorkerFeature, workersService } from 'zin/plugins/workers'
import { canaryKinds, canaryReport } from './attention.js'
import { canaryCommands } from './cli.js'
import { canaryService } from './contract.js'
import { Controller } from './controller.js'
import { canaryErrors } from './errors.js'
import { healthTermsOf } from './health-terms.js'
import { canaryHooks } from './hooks.js'
import { LocalCanaries } from './local-canaries.js'
import { isLive } from './machine.js'
import { managedCanaries } from './managed.js'
import { canaryChanged } from './messages.js'
import { canaryMetrics } from './metrics.js'
import { canaryOptions } from './options.js'
import { Replays } from './replays.js'
import { canaryRoutes } from './routes.js'
import { CanaryService } from './service.js'
import { simulateCommand } from './simulate/cli.js'
import { simulationErrors } from './simulate/errors.js'
import { CanarySteps, ignoreMissing } from './steps.js'
import { kvStore } from './store/kv.js'
import { memoryStore } from './store/memory.js'
import { itself, Transitions } from './transitions.js'

export type * from './contract.js'
export { canaryService } from './contract.js'
export type { CanaryChange, CanaryHooks, CanarySubject } from './hooks.js'
export type { CanaryPluginOptions } from './options.js'
export type { CanaryState, PauseReason } from './record.js'

/** How long a stop waits for automatic replays at most, in ms. */
const maxCloseMs = 5_000

const feature = defineWorkerFeature({ plugin: 'canary', feature: 'canary' })

/** Routes a growing share of jobs to new versions of workers, and rolls them back or promotes them based on their results. */
export const canary = definePlugin({
  name: 'canary',
  version: '1.0.0',
  description: 'Routes a growing share of jobs to new versions of workers, and rolls them back or promotes them',
  dependencies: ['ops'],
  uses: {
    cluster: clusterService,
    workers: workersService,
    queues: queuesService,
    ops: opsService,
    decisions: optional(decisionsService),
    kv: optional(kvService),
  },
  provides: [canaryService],
  hooks: canaryHooks,
  attention: canaryKinds,
  errors: { ...canaryErrors, ...simulationErrors },
  options: canaryOptions,
  setup(ctx) {
    const { clock, log, options, services } = ctx
    const { cluster, kv, ops, queues } = services
    const store = kv === undefined ? memoryStore() : kvStore(kv, kv.driver)
    const workers = services.workers.as('canary')
    const transitions: Transitions = new Transitions({
      store,
      cluster,
      clock,
      log,
      local: () => local,
      decisions: () => services.decisions,
      onCanaryChange: ctx.hooks.slot('onCanaryChange'),
      beforeCanaryPromote: ctx.hooks.slot('beforeCanaryPromote'),
    })
    const replays = new Replays({ queues, store, transitions })
    const steps = new CanarySteps({ workers, store, transitions, replays, now: () => clock.now() })
    const onRemoved = async (worker: string): Promise<void> => {
      const record = await store.get(worker)
      if (record !== undefined && isLive(record)) await steps.abandon(record, ops.actor() ?? itself)
    }
    const local: LocalCanaries = new LocalCanaries({
      store,
      workers,
      cluster,
      hooks: ctx.hooks,
      clock,
      log,
      hidesErrors: () => queues.views.hidesTexts,
      onRemoved,
      replay: (record, due, onDone) => replays.run(record, due, onDone),
      closeMs: () => Math.min(maxCloseMs, ctx.host.shutdownLeftMs / 3),
    })
    const controller = new Controller({ store, workers, cluster, transitions, steps, clock, log })
    const canaries = new CanaryService({ workers, feature, store, transitions, steps, replays, ops, clock })
    const service = managedCanaries(canaries, ctx.manage)
    ctx.provide(canaryService, service)
    ctx.describe(() => store.kind)
    if (!services.workers.enabled) return
    ctx.routes(canaryRoutes(service, ops))
    ctx.commands([...canaryCommands, simulateCommand])
    const queueOf = async (worker: string): Promise<string | undefined> => (await ignoreMissing(() => workers.get(worker)))?.queueName
    ctx.hooks.on('collectMetrics', () => canaryMetrics(local.live))
    ctx.hooks.on('collectAttention', (where) => (where === 'app' ? canaryReport(() => store.live(), queueOf) : { facts: [] }))
    ctx.hooks.on('collectHealthTerms', (worker) => healthTermsOf(local.get(worker)))
    ctx.onStart(async () => {
      ctx.onStop(services.workers.offerFeature(feature))
      // Before the first job runs.
      await local.sync()
    })
    ctx.onReady(() => {
      ctx.onStop(cluster.on(canaryChanged, ({ worker }) => void local.refresh(worker)))
      ctx.onStop(cluster.onMissed(() => void local.sync()))
      controller.open()
      ctx.every(options.pollMs, () => local.sync())
      ctx.every(options.flushMs, () => local.flush())
      ctx.every(options.lookMs, () => controller.lookAtAll())
    })
    ctx.onStop(async () => {
      await controller.close()
      await local.close()
    })
  },
})
