import type { Clock, HostView, Logger, Migration } from 'zin'
import { type Cluster, localCluster, type OwnedCluster } from 'zin/plugins/cluster'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { stateMigration } from '../migrations/0002-create-state.js'
import { durationsMigration } from '../migrations/0004-create-durations.js'
import { outcomeCountsMigration } from '../migrations/0005-add-outcome-counts.js'
import { onConnection } from '../on-connection.js'
import type { PersistenceDriver } from '../record/record.js'
import type { WorkerSettings } from '../settings.js'
import type { StateStore } from './contract.js'
import { memoryState } from './memory.js'
import { redisState } from './redis/redis.js'
import { sqlState } from './sql/sql.js'

export interface ChooseOptions {
  readonly settings: WorkerSettings
  readonly services: { readonly cluster: Cluster; readonly database: Database | undefined; readonly kv: Kv | undefined }
  readonly host: Pick<HostView, 'app'>
  readonly clock: Clock
  readonly log: Logger
}

export interface ChosenState {
  readonly cluster: Cluster
  /** The cluster, if it is limited to this process; the caller opens and closes it. */
  readonly local?: OwnedCluster
  readonly store: StateStore
  readonly migrations: readonly Migration[]
}

/** Stores for the shared state of each driver, by preference. */
const preference: Readonly<Record<PersistenceDriver, readonly ('redis' | 'sql')[]>> = {
  memory: [],
  'edge-sql': [],
  kvstore: ['redis', 'sql'],
  docstore: ['redis', 'sql'],
  db: ['sql'],
}

/**
 * Chooses the store for the state that nodes share: that of the records, or the closest one. Without a shared store, or with
 * `WORKER_CLUSTER_MODE` off, each node keeps its own state.
 */
export function chooseState({ settings, services, host, clock, log }: ChooseOptions): ChosenState {
  const { cluster, database, kv } = services
  const has = { redis: kv?.driver === 'redis', sql: database !== undefined }
  const together = settings.WORKER_CLUSTER_MODE && cluster.kind !== 'memory'
  const kind = together ? preference[settings.WORKER_PERSISTENCE_DRIVER].find((candidate) => has[candidate]) : undefined
  if (kind === 'redis') {
    const prefix = settings.WORKER_PERSISTENCE_REDIS_KEY_PREFIX || host.app.name.replaceAll(' ', '_')
    return { cluster, store: redisState({ redis: () => kv?.redis, prefix }), migrations: [] }
  }
  if (kind === 'sql' && database !== undefined) {
    const connection = settings.WORKER_PERSISTENCE_DB_CONNECTION
    const prefix = settings.WORKER_PERSISTENCE_TABLE.replace(/s$/, '')
    const store = sqlState({ database, connection, prefix })
    const migrations = [stateMigration(prefix), durationsMigration(prefix), outcomeCountsMigration(prefix)]
    return { cluster, store, migrations: onConnection(database, connection, migrations) }
  }
  const local = localCluster({ node: cluster.node, clock, log, leaseMs: settings.WORKER_INTERVAL_MS * 3 })
  return { cluster: local, local, store: memoryState({ clock }), migrations: [] }
}
