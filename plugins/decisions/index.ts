import { definePlugin, EventStreams, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { databaseService } from 'zin/plugins/database'
import { opsService } from 'zin/plugins/ops'
import { decisionCommands } from './cli.js'
import { decisionsService } from './contract.js'
import { decisionErrors } from './errors.js'
import { createDecisions } from './migrations/0001-create-decisions.js'
import { decisionsOptions } from './options.js'
import { decisionRoutes } from './routes.js'
import { DecisionLog } from './service.js'
import { databaseStore } from './store/db.js'
import { memoryStore } from './store/memory.js'

export type { Decision, DecisionFilter, DecisionPage, Decisions, Json, NewDecision } from './contract.js'
export { decisionsService } from './contract.js'
export { type CountedError, errorText, hiddenMessage, withoutErrorMessages } from './error-counts.js'
export type { DecisionsOptions } from './options.js'

/** Intervals for retrying to store decisions and for deleting old ones, in ms. */
const retryMs = 2_000
const pruneMs = 600_000
const dayMs = 86_400_000

/** Records what the app did automatically and why, for all plugins. */
export const decisions = definePlugin({
  name: 'decisions',
  version: '1.0.0',
  description: 'What the app did automatically and why: one record for every automatic action',
  dependencies: ['ops'],
  uses: { cluster: clusterService, ops: opsService, database: optional(databaseService) },
  provides: [decisionsService],
  errors: decisionErrors,
  options: decisionsOptions,
  setup(ctx) {
    const { clock, log, options, services } = ctx
    const { cluster, database } = services
    if (database !== undefined) ctx.migration(createDecisions)
    const store = database === undefined ? memoryStore() : databaseStore(database)
    const { keepDays, maxDecisions: most } = options
    const service = new DecisionLog({ store, cluster, clock, log, keepMs: keepDays * dayMs, most })
    const streams = new EventStreams()
    ctx.provide(decisionsService, service)
    ctx.describe(() => store.kind)
    ctx.hooks.on('onClose', () => streams.closeAll())
    ctx.onStop(() => streams.closeAll())
    ctx.routes(decisionRoutes(service, streams, (request) => services.ops.allow(request, 'payload:read')))
    ctx.commands(decisionCommands)
    ctx.onStart(() => {
      service.open()
      ctx.every(retryMs, () => service.flush())
      ctx.onStop(() => service.close())
    })
    ctx.hooks.on('purgeData', async (before) => {
      await store.prune(before, most)
      return ['decisions.records']
    })
    ctx.onReady(() => void ctx.every(pruneMs, () => service.prune()))
  },
})
