import { appSlug, checkedValue, dataErrors, definePlugin, isUnusedData, optional } from 'zin'
import { healthChecksService } from 'zin/plugins/health'
import { describeRedis, redisErrors, redisPackages, redisStoreInfo, redisTarget } from 'zin/plugins/redis'
import { queuesService } from './contract.js'
import type { EmbeddedStore } from './embedded/open.js'
import { queueErrors } from './errors.js'
import { queueHooks } from './hooks.js'
import { queuesOptions } from './options.js'
import { scheduleKinds, scheduleReport } from './schedule-facts.js'
import { createQueues } from './service.js'
import { queuesSettings } from './settings.js'

export { repeatAdding, repeatable } from './ask.js'
export { backoffFault, backoffRule, type JobBackoff } from './backoff.js'
export type { Cancellation, Canceller, CancelOutcome, CancelRequest, QueueJob } from './cancel.js'
export { cancelReason, isCancelReason } from './cancel.js'
export type {
  AddedJob,
  JobLogs,
  JobOptions,
  JobTemplate,
  ListedState,
  LogPage,
  NewJob,
  Purged,
  PurgedData,
  PurgeOptions,
  QueueCounts,
  QueueSample,
  Queues,
  ReadJob,
  RewriteOptions,
  RewriteOutcome,
} from './contract.js'
export { queuesService } from './contract.js'
export type { Copying, CopySource } from './copying.js'
export {
  type DeduplicationMode,
  deduplicationFault,
  deduplicationModes,
  deduplicationRule,
  type JobDeduplication,
  scheduleDeduplicationFault,
  scheduleDeduplicationModes,
} from './deduplication.js'
export type {
  CountedJobs,
  CountOptions,
  DeletedJob,
  DeletedJobDetails,
  DeletedStep,
  DeleteOutcome,
  DeleteRange,
  RestoredStep,
  UndoOptions,
  UndoRoom,
} from './deletion/contract.js'
export { mostDeleted } from './deletion/contract.js'
export { queueErrors } from './errors.js'
export type { FollowOptions, QueueEvent } from './event-stream.js'
export type { ChangedJob, FlowChange, FlowRefusal, Flows, RetryOptions } from './flows/contract.js'
export type { JobAddition, JobTextPart, PayloadView, PurgedJob, QueueHooks } from './hooks.js'
export { isInternalQueue, isStorableText, resultFault } from './job-check.js'
export { jobIdFault } from './job-id.js'
export { KeepJobError } from './keep-job.js'
export type { QueuesOptions } from './options.js'
export { bullPriority, levelOf, type PriorityName, priorityOf } from './priority.js'
export { dueSince } from './ready.js'
export { replacement } from './redact.js'
export { isRefusedOutcome } from './refused-outcome.js'
export {
  type CatchUp,
  catchUps,
  type Overlap,
  overlaps,
  type Schedule,
  type SchedulePolicy,
  type ScheduleTiming,
} from './schedules/timing.js'
export type { FoundJobs, Place } from './search/contract.js'
export type { QueueTelemetry } from './telemetry.js'
export type { JobViews, ViewedJob, Viewer } from './views.js'
export { isWrongType } from './wrong-type.js'

const maintainEveryMs = 60_000
const tickMs = 1_000

/** BullMQ queues on Redis, or embedded in this process. */
export const queues = definePlugin({
  name: 'queues',
  version: '0.1.0',
  description: 'BullMQ queues on Redis, or on an embedded store that needs no server',
  uses: { health: optional(healthChecksService) },
  provides: [queuesService],
  packages: {
    bullmq: {},
    '@electric-sql/pglite': { when: 'REDIS_URL is not set', needed: ({ settings }) => settings.REDIS_URL === '' },
    ...redisPackages,
  },
  attention: scheduleKinds,
  errors: { ...queueErrors, ...redisErrors },
  hooks: queueHooks,
  options: queuesOptions,
  settings: queuesSettings,
  // In development, data does not have to survive a power failure.
  developmentDefaults: { QUEUE_FSYNC: 'off' },
  setup(ctx) {
    const { settings, hooks, host, log, clock, options, services } = ctx
    const target = checkedValue(
      ctx,
      () => (settings.REDIS_URL === '' ? undefined : redisTarget('REDIS_URL', settings.REDIS_URL)),
      () => undefined,
    )
    const service = createQueues({
      backend: target ? 'redis' : 'embedded',
      clock,
      log,
      maxJobBytes: settings.QUEUE_MAX_JOB_BYTES,
      search: options.search,
      redact: options.redact,
      hooks: {
        beforeJobsAdd: hooks.slot('beforeJobsAdd'),
        afterJobsAdd: hooks.slot('afterJobsAdd'),
        beforeJobUpdate: hooks.slot('beforeJobUpdate'),
        transformJobData: hooks.slot('transformJobData'),
        restoreJobData: hooks.slot('restoreJobData'),
        transformJobResult: hooks.slot('transformJobResult'),
        restoreJobResult: hooks.slot('restoreJobResult'),
        transformJobText: hooks.slot('transformJobText'),
        restoreJobText: hooks.slot('restoreJobText'),
        placeJobField: hooks.slot('placeJobField'),
        afterJobsPurge: hooks.slot('afterJobsPurge'),
        beforeJobRetry: hooks.slot('beforeJobRetry'),
        beforePayloadView: hooks.slot('beforePayloadView'),
        redactPayload: hooks.slot('redactPayload'),
      },
    })
    ctx.provide(queuesService, service)
    let embedded: EmbeddedStore | undefined
    ctx.hooks.on('collectBackup', async (folder) => {
      if (target) return { entries: [], elsewhere: 'The jobs are in Redis (REDIS_URL): back up its files after BGSAVE, or a replica' }
      return (await import('./embedded/backup.js')).backUpQueue(host.app.dataDir, embedded, folder)
    })
    if (!target) ctx.hooks.on('checkBackup', async (folder) => (await import('./embedded/backup.js')).checkQueue(folder))
    ctx.hooks.on('collectStores', () => {
      if (target === undefined) return [{ where: `embedded queue in ${host.app.dataDir}/queue`, check: async () => [] }]
      const { production, name } = host.app
      const connectTimeoutMs = settings.REDIS_CONNECT_TIMEOUT_MS
      return [redisStoreInfo({ target, connectTimeoutMs, keyPrefix: `{${appSlug(name)}}:`, strict: production, log })]
    })
    ctx.hooks.on('collectData', () => ({ open: () => service.data(), users: () => service.users() }))
    ctx.hooks.on('collectAttention', (where) => (where === 'app' ? scheduleReport(service, () => clock.now()) : { facts: [] }))
    ctx.describe(() => service.backend)
    ctx.onStop(() => service.close())
    ctx.onStart(() => {
      const remove = services.health?.register({
        name: 'queues',
        kind: 'readiness',
        // The embedded store is that of this process alone; one of several processes fails for all of them.
        critical: target === undefined,
        run: (signal) => service.ping(signal),
      })
      if (remove !== undefined) ctx.onStop(remove)
    })
    // Loads while other plugins are set up and started. A process without roles does not need it.
    const engine =
      target === undefined && host.roles.size > 0 ? import('./embedded/engine.js').then((made) => made.loadEngine()) : undefined
    engine?.catch(() => undefined)
    ctx.onReady(() => {
      if (host.roles.size > 0) ctx.every(tickMs, () => service.tick())
    })
    ctx.onStart(async () => {
      if (target) {
        const { openRedisBackend } = await import('./backends/redis.js')
        const app = appSlug(host.app.name)
        const runs = host.roles.size > 0
        const strict = host.app.production && runs
        await service.open(await openRedisBackend({ target, app, connectTimeoutMs: settings.REDIS_CONNECT_TIMEOUT_MS, log, runs, strict }))
        if (!runs) return
        if ((await (await service.data()).marked?.()) === true) throw dataErrors.DATA_INCOMPLETE(`Redis at ${describeRedis(target)}`)
        if (await isUnusedData(host.app.dataDir, 'queue/global/pg_control')) {
          log.warn(
            `the jobs in ${host.app.dataDir}/queue lie unused, because REDIS_URL is set: write them to a file with REDIS_URL unset and "zin data:export --out <file>", and to Redis with "zin data:import <file> --yes"; or delete them`,
          )
        }
        return
      }
      if (host.app.production) log.warn('the embedded queue supports a single process; set REDIS_URL to run several')
      const [{ openEmbedded }, { openEmbeddedBackend }] = await Promise.all([
        import('./embedded/open.js'),
        import('./backends/embedded.js'),
      ])
      const store = await openEmbedded({ dataDir: host.app.dataDir, fsync: settings.QUEUE_FSYNC !== 'off', log, ...(engine && { engine }) })
      embedded = store
      const opened = openEmbeddedBackend(store)
      await service.open(opened)
      ctx.every(maintainEveryMs, async () => {
        if (store.lost || store.disk.lacks()) return
        await opened.deletion.expire()
        await store.maintain()
      })
    })
  },
})
