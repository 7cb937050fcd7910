import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Migration, PluginContext } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import type { Queues } from 'zin/plugins/queues'
import { Control } from './control.js'
import { workerErrors } from './errors.js'
import { hookSlots } from './hook-slots.js'
import { WorkerJobs } from './jobs/jobs.js'
import { createWorkersTable, workersMigration } from './migrations/create-workers.js'
import { bootWorkers, syncWorkers } from './node/sync.js'
import { WorkerNode } from './node/worker-node.js'
import { Processors } from './processors/processors.js'
import { ProcessorRegistry } from './processors/registry.js'
import { makeWorkers } from './service.js'
import type { WorkerSettings } from './settings.js'
import { dbStore } from './store/db.js'
import { StoreDirectory } from './store/directory.js'
import { guarded } from './store/guarded.js'
import { kvStore } from './store/kv.js'
import { memoryStore } from './store/memory.js'
import type { WorkerStore } from './store/store.js'
import type { Workers } from './types.js'

export interface AssembleInput extends Pick<PluginContext, 'hooks' | 'clock' | 'log' | 'host'> {
  readonly settings: WorkerSettings
  readonly services: { readonly queues: Queues; readonly database: Database | undefined; readonly kv: Kv | undefined }
  /** Absolute folders that processors are loaded from. */
  readonly roots: readonly string[]
}

export interface WorkerParts {
  readonly workers: Workers
  readonly registry: ProcessorRegistry
  readonly migrations: readonly Migration[]
  /** Whether `sync` has anything to do. */
  watches(): boolean
  prepare(): Promise<void>
  /** Begins what starts by itself; goes on in the background. */
  boot(): void
  sync(): Promise<void>
  close(): Promise<void>
}

/** After WORKER_TIMEOUT, how long cancelled jobs get to end, in ms. */
const cancelMs = 5_000

/** Wires the parts of the plugin. */
export function assemble(input: AssembleInput): WorkerParts {
  const { clock, host, log, services, settings } = input
  const hooks = hookSlots(input.hooks)
  const connectionTimeout = settings.WORKER_CONNECTION_TIMEOUT
  const directory = new StoreDirectory(storesOf(input))
  const registry = new ProcessorRegistry()
  const processors = new Processors(registry, input.roots, hooks.resolveProcessor)
  const consumes = host.roles.has('worker') && settings.WORKERS_ENABLED && settings.WORKER_ENABLED
  const stopLimits = { drainMs: settings.WORKER_TIMEOUT * 1000, cancelMs }
  // The rest of the app wants to stop in time as well.
  const { shutdownMs } = host.app
  const shutdownLimits = { drainMs: Math.min(stopLimits.drainMs, shutdownMs * 0.6), cancelMs: Math.min(cancelMs, shutdownMs * 0.2) }
  const id = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const node = consumes
    ? new WorkerNode({ id, queues: services.queues, hooks, clock, log, connectionTimeout, processors, stopLimits })
    : undefined
  const rule = { global: settings.WORKER_AUTO_START, driver: settings.WORKER_PERSISTENCE_DRIVER }
  const defaults = { concurrency: settings.WORKER_CONCURRENCY, driver: settings.WORKER_PERSISTENCE_DRIVER }
  const control = new Control({ directory, node, processors, registry, clock, autoStart: rule, defaults })
  const jobDefaults = { attempts: settings.WORKER_RETRIES, priority: settings.WORKER_PRIORITY }
  const jobs = new WorkerJobs({ queues: services.queues, transform: hooks.transformJobOptions, defaults: jobDefaults, connectionTimeout })
  const connection = settings.WORKER_PERSISTENCE_DB_CONNECTION
  const table = settings.WORKER_PERSISTENCE_TABLE
  const { database } = services
  let booting = Promise.resolve()
  let syncing = Promise.resolve()

  return {
    workers: makeWorkers({ control, directory, jobs, node, registry }),
    registry,
    migrations: database !== undefined && connection === 'default' ? [workersMigration(table, () => database.dialect)] : [],
    // The embedded store belongs to one process: nobody else changes anything.
    watches: () => node !== undefined && directory.shared && services.queues.backend !== 'embedded',
    async prepare() {
      // Migrations run on the default connection; elsewhere the table is made here.
      if (database !== undefined && connection !== 'default') await createWorkersTable(database.tables(connection), table, database.dialect)
    },
    boot() {
      if (node === undefined) return
      booting = directory
        .all()
        .then((stored) => bootWorkers(stored, node, rule, (worker) => control.wake(worker), log))
        .catch((error: unknown) => log.error({ err: error }, 'the stored workers were not read at boot'))
    },
    sync() {
      if (node === undefined) return syncing
      const done = booting.then(() => syncWorkers(directory, node))
      syncing = done.catch(() => undefined)
      return done
    },
    async close() {
      await node?.close(shutdownLimits)
      await Promise.all([booting, syncing])
    },
  }
}

/** Every store that the app's plugins allow; the configured one must be among them. */
function storesOf({ host, services, settings }: AssembleInput): readonly WorkerStore[] {
  const { database, kv } = services
  const { WORKER_PERSISTENCE_DB_CONNECTION: connection, WORKER_PERSISTENCE_TABLE: table } = settings
  const prefix = settings.WORKER_PERSISTENCE_REDIS_KEY_PREFIX || host.app.name.replaceAll(' ', '_')
  const stores = [
    memoryStore(),
    ...(kv === undefined ? [] : [guarded(kvStore(kv, prefix), (error) => kv.isUnavailable(error))]),
    ...(database === undefined ? [] : [guarded(dbStore(database, connection, table), (error) => database.isUnavailable(error))]),
  ]
  const driver = settings.WORKER_PERSISTENCE_DRIVER
  if (!stores.some((store) => store.driver === driver)) {
    throw workerErrors.WORKERS_MISCONFIGURED(
      `WORKER_PERSISTENCE_DRIVER=${driver} needs the plugin ${driver === 'db' ? 'database' : 'kv'} in zin.config.ts`,
    )
  }
  return stores
}
