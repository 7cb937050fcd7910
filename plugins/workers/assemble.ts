import { AsyncLocalStorage } from 'node:async_hooks'
import { type DataStore, type Migration, messageOf, type PluginContext, withDeadline } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Database } from 'zin/plugins/database'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Ops } from 'zin/plugins/ops'
import type { Queues } from 'zin/plugins/queues'
import type { WorkerEvent, Workers } from './contract.js'
import { Cancels } from './control/cancels.js'
import { Changes } from './control/changes.js'
import { Declarations } from './control/declarations.js'
import { DesiredStates } from './control/desired-states.js'
import { Drains } from './control/drains.js'
import { GivenCode } from './control/given-code.js'
import { Operations } from './control/operations.js'
import { VersionCheck } from './control/version-check.js'
import { Versions } from './control/versions.js'
import { WorkerRecords } from './control/worker-records.js'
import { WorkerWrites } from './control/writes.js'
import { Health } from './health/health.js'
import { hookSlots } from './hook-slots.js'
import { WorkerJobs } from './jobs/jobs.js'
import { Claims } from './node/claims.js'
import { stalledTickMs } from './node/consumer.js'
import { askAgainMs } from './node/fetch-watch.js'
import { JobMiddlewares } from './node/job-middleware.js'
import { recordOf } from './node/node-decision.js'
import { Reconciler } from './node/reconciler.js'
import { VersionRoutes } from './node/version-routes.js'
import { type CrashFacts, WorkerNode } from './node/worker-node.js'
import type { WorkersOptions } from './options.js'
import type { ProcessorRoots } from './processors/load-path.js'
import { Processors } from './processors/processors.js'
import { ProcessorRegistry } from './processors/registry.js'
import { WorkerFeatures } from './record/worker-features.js'
import { makeWorkers } from './service.js'
import type { WorkerSettings } from './settings.js'
import { chooseState } from './shared/choose.js'
import type { ReportedStatus } from './shared/contract.js'
import { tableNames } from './shared/sql/tables.js'
import { SharedState } from './shared/state.js'
import { workersData } from './store/data.js'
import { openStores } from './store/open.js'
import { Places } from './store/places.js'
import { StoreRegistry } from './store/registry.js'

export interface AssembleInput extends Pick<PluginContext, 'hooks' | 'clock' | 'log' | 'host' | 'manage'> {
  readonly settings: WorkerSettings
  readonly options: WorkersOptions
  readonly services: {
    readonly cluster: Cluster
    readonly queues: Queues
    readonly ops: Ops
    readonly database: Database | undefined
    readonly decisions: Decisions | undefined
    readonly kv: Kv | undefined
  }
  readonly roots: ProcessorRoots
}

export interface WorkerParts {
  readonly workers: Workers
  readonly registry: ProcessorRegistry
  readonly migrations: readonly Migration[]
  /** Tables with the states of nodes, which end with them. */
  readonly nodeTables: readonly string[]
  /** The records, if they are not in tables. */
  readonly data: DataStore | undefined
  /** Prepares the stores; no worker runs yet. */
  prepare(): Promise<void>
  /** Joins the other nodes. */
  join(): Promise<void>
  /** Creates and changes the workers that code declares. */
  declare(): Promise<void>
  /** Starts the workers that auto-start, in the background. */
  boot(): void
  /** Polls for changes whose messages were missed. Called every `pollMs`. */
  poll(): Promise<void>
  readonly pollMs: number
  /** Stores counts and closes drained versions. Called every second. */
  flush(): Promise<void>
  /** Returns stalled jobs to their queues when it is this node's turn. Called every `stalledMs`. */
  checkStalled(): Promise<void>
  readonly stalledMs: number
  /** Replaces consumers that take no jobs although jobs wait. Called every `watchMs`. */
  watch(): Promise<void>
  readonly watchMs: number
  /** Throws if a worker of this node takes none of the jobs that wait. */
  checkWorkers(): void
  /** Since when, in ms since 1970, and why this process cannot store counts of attempts; undefined if it can. */
  readonly countsFault: { readonly since: number; readonly error: string } | undefined
  /** The statuses of workers on all nodes, including lost ones. */
  statuses(names: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>>
  /** Called within the context of an error that nothing caught and that ends the app: see {@link WorkerNode.crash}. */
  crash(error: unknown): CrashFacts
  /** Deletes expired shared state, on the leader only. */
  sweep(): Promise<void>
  close(): Promise<void>
}

/** Before Node 24, an asynchronous context makes each job about a fifth more expensive. */
const hasCheapContext = Number.parseInt(process.versions.node, 10) >= 24

/** The leader polls for changes that were not published, and deletes expired shared state. */
const leaderRole = 'workers'

/** How long cancelled jobs may take to end after WORKER_TIMEOUT, in ms. */
const cancelMs = 5_000

/** Deadline of the last report of a node, in ms. */
const reportMs = 2_000

/** Deadline for resigning the leader role and removing the statuses of this node, in ms. */
const leaveMs = 2_000

/** Wires the parts of the plugin. */
export function assemble(input: AssembleInput): WorkerParts {
  const { clock, host, log, options, services, settings } = input
  const now = (): number => clock.now()
  const hooks = hookSlots(input.hooks)
  const connectionTimeout = settings.WORKER_CONNECTION_TIMEOUT
  const { stores, open, close: closeStores } = openStores({ ...input, edgeSql: options.edgeSql })
  const keyPrefix = settings.WORKER_PERSISTENCE_REDIS_KEY_PREFIX || host.app.name.replaceAll(' ', '_')
  const places = services.kv && new Places({ kv: services.kv, key: `workers:${keyPrefix}:places`, log })
  const storeRegistry = new StoreRegistry(stores, open, places)
  const tablePrefix = settings.WORKER_PERSISTENCE_TABLE.replace(/s$/, '')
  const tables = tableNames(tablePrefix)
  // The last three are left from versions before the plugin cluster.
  const nodeTables = [
    tables.changes,
    tables.revisions,
    tables.statuses,
    ...['nodes', 'messages', 'leaders'].map((name) => `${tablePrefix}_${name}`),
  ]
  const inKv = stores.find(({ driver }) => driver === 'kvstore' && settings.WORKER_PERSISTENCE_DRIVER === driver)
  const { cluster, local, store: stateStore, migrations: stateMigrations } = chooseState(input)
  // The lock of the data folder excludes other processes.
  const single = services.queues.backend === 'embedded' && cluster.kind !== 'redis' && services.database?.dialect !== 'mysql'
  const shared = new SharedState({ cluster, store: stateStore, single })
  const claims = new Claims(single ? undefined : cluster, (name) => reconciler.reconsider(name))
  const registry = new ProcessorRegistry()
  const processors = new Processors({ ...input, registry, hook: hooks.resolveProcessor })
  const id = cluster.node.id
  const middlewares = new JobMiddlewares((plugin) => placeOf(plugin, host))
  const routes = new VersionRoutes(log)
  const stopLimits = { drainMs: settings.WORKER_TIMEOUT * 1000, cancelMs }
  // Leaves time for the rest of the app to stop.
  const shutdownLimits = (left = host.shutdownLeftMs) => ({
    drainMs: Math.min(stopLimits.drainMs, left * 0.6),
    cancelMs: Math.min(cancelMs, left * 0.2),
    reportMs: Math.min(reportMs, left * 0.1),
  })
  const node = consumes(host, settings)
    ? new WorkerNode({
        id,
        shared,
        queues: services.queues,
        hooks,
        decide: (decision) => services.decisions?.record(recordOf(decision)),
        middlewares,
        routes,
        context: (options.blameJobs ?? hasCheapContext) ? new AsyncLocalStorage() : undefined,
        clock,
        log,
        connectionTimeout,
        jobLockMs: options.jobLockMs,
        maxStalls: options.maxStalls,
        limitOf: (queue) => reconciler.limitOf(queue),
        processors,
        claims,
        stopLimits,
        halt: (worker, error) => desired.halt(worker, id, error),
        tried: (worker) => desired.noteTried(worker),
      })
    : undefined
  const rule = { global: settings.WORKER_AUTO_START, driver: settings.WORKER_PERSISTENCE_DRIVER }
  const cancels = new Cancels(shared)
  const jobs = new WorkerJobs({
    queues: services.queues,
    hooks,
    clock,
    defaults: { attempts: settings.WORKER_RETRIES, priority: settings.WORKER_PRIORITY },
    connectionTimeout,
  })
  const withdrawCanceller = services.queues.addCanceller({
    here: ({ queue, job, reason }) => node?.cancel(queue, job, reason) ?? false,
    elsewhere: (request) => cancels.ask(request),
  })
  const operations = new Operations(shared, clock)
  const features = new WorkerFeatures()
  const writes = new WorkerWrites({ storeRegistry, shared, operations, clock })
  const desired = new DesiredStates({ writes, operations, shared, clock })
  const check = new VersionCheck(processors)
  const code = new GivenCode(registry)
  const records = new WorkerRecords({
    writes,
    storeRegistry,
    shared,
    check,
    code,
    reconsider: (name) => reconciler.reconsider(name),
    schedules: {
      exist: async (record) => (await jobs.schedules(record)).length > 0,
      removeAll: (record) => jobs.dropSchedules(record),
      moveAll: (from, to) => jobs.moveSchedules(from, to),
    },
    features,
    clock,
    autoStart: rule,
    defaults: { concurrency: settings.WORKER_CONCURRENCY, driver: settings.WORKER_PERSISTENCE_DRIVER },
    queueStore: services.queues.backend,
  })
  const health = new Health({ shared, jobs, hooks, queues: services.queues, now })
  const versions = new Versions({ writes, shared, check, code, now })
  const changes = new Changes({ hooks, ops: services.ops, log })
  const declarations = new Declarations({ changes, records, versions, registry, storeRegistry, rule, log })
  const listeners = new Set<(event: WorkerEvent) => void>()
  const emit = (event: WorkerEvent): void => {
    for (const listener of [...listeners]) {
      try {
        listener(event)
      } catch (error) {
        log.error({ err: error, event: event.type }, `a listener of worker events threw: ${messageOf(error)}`)
      }
    }
  }
  let leadership: Leadership | undefined
  const reconciler = new Reconciler({
    storeRegistry,
    shared,
    node,
    audits: () => leadership?.leads === true,
    rule,
    applyAutoStart: (worker) => desired.applyAutoStart(worker),
    takeStart: (worker) => desired.takeStart(worker),
    code,
    claims,
    log,
    now,
    emit,
  })

  return {
    workers: makeWorkers({
      enabled: settings.WORKERS_ENABLED,
      id,
      changes,
      declarations,
      shared,
      clock,
      desired,
      drains: new Drains({ shared, clock, manage: input.manage }),
      storeRegistry,
      features,
      health,
      jobs,
      node,
      operations,
      records,
      registry,
      versions,
      writes,
      kept: (name) => reconciler.kept(name)?.record,
      middlewares,
      routes,
      knownId: (name) => reconciler.idOf(name),
      listen(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }),
    registry,
    migrations: [...stores.flatMap((store) => store.migrations ?? []), ...stateMigrations],
    nodeTables,
    data: inKv === undefined ? undefined : workersData(inKv),
    async prepare() {
      await shared.describe({ region: settings.WORKER_REGION, consumes: node !== undefined })
      await storeRegistry.prepare()
      await reconciler.remember()
    },
    async join() {
      await local?.open()
      await reconciler.join()
      leadership = cluster.lead(leaderRole)
    },
    // A command has no role, and changes nothing as a side effect.
    declare: async () => (host.roles.size === 0 ? undefined : declarations.begin()),
    boot: () => reconciler.boot(),
    pollMs: settings.WORKER_INTERVAL_MS,
    async poll() {
      await local?.heartbeat()
      await reconciler.poll()
      await declarations.apply()
    },
    async flush() {
      reconciler.drain()
      await node?.flush()
    },
    checkStalled: async () => node?.checkStalled(),
    stalledMs: stalledTickMs(options.jobLockMs),
    watch: async () => node?.watch(),
    watchMs: askAgainMs,
    checkWorkers() {
      declarations.check()
      node?.check()
    },
    get countsFault() {
      return node?.countsFault
    },
    statuses: (names) => shared.statuses(names),
    crash: (error) => node?.crash(error) ?? { runningJobs: [] },
    async sweep() {
      if (leadership?.leads === true && (await cluster.isCurrent(leaderRole, leadership.epoch))) await shared.sweep()
    },
    async close() {
      withdrawCanceller()
      // In parallel, so that the shutdown deadline also bounds stops that are already in progress. Code that is being loaded for a start
      // is abandoned.
      await Promise.all([reconciler.close(), node?.close(shutdownLimits()), processors.stopLoading()])
      const left = async (): Promise<void> => {
        await leadership?.resign()
        await reconciler.deregister()
      }
      // If the store does not respond, the lease of this node expires.
      await withDeadline(left(), Math.min(leaveMs, host.shutdownLeftMs * 0.5), 'the store did not respond').catch(() => undefined)
      await local?.close()
      await processors.close()
      await closeStores()
    },
  }
}

/** The position of a plugin in the boot order; unknown plugins come last. */
function placeOf(plugin: string, host: PluginContext['host']): number {
  const all = host.plugins()
  const index = all.findIndex(({ name }) => name === plugin)
  const level = all[index]?.level
  return level === undefined ? Number.MAX_SAFE_INTEGER : level * all.length + index
}

function consumes(host: PluginContext['host'], settings: WorkerSettings): boolean {
  const both = host.roles.has('worker') && host.roles.has('http')
  return host.roles.has('worker') && settings.WORKERS_ENABLED && settings.WORKER_ENABLED && !(settings.DOCKER_WORKER && both)
}
