import type { Clock, HostView, Logger, Migration } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { clusterMigration } from '../migrations/create-cluster.js'
import { onConnection } from '../migrations/on-connection.js'
import { unicodeClusterMigration } from '../migrations/use-unicode.js'
import type { PersistenceDriver } from '../record/record.js'
import type { WorkerSettings } from '../settings.js'
import type { Cluster } from './cluster.js'
import { memoryCluster } from './memory.js'
import { redisCluster } from './redis/redis-cluster.js'
import { sqlCluster } from './sql/sql-cluster.js'

export interface ChooseInput {
  readonly settings: WorkerSettings
  readonly services: { readonly database: Database | undefined; readonly kv: Kv | undefined }
  readonly host: Pick<HostView, 'app'>
  readonly clock: Clock
  readonly log: Logger
}

export interface ChosenCluster {
  readonly cluster: Cluster
  readonly migrations: readonly Migration[]
}

/** Where each driver looks for what processes share, in this order. */
const preference: Readonly<Record<PersistenceDriver, readonly ('redis' | 'sql')[]>> = {
  memory: [],
  'edge-sql': [],
  kvstore: ['redis', 'sql'],
  docstore: ['redis', 'sql'],
  db: ['sql'],
}

/** Processes meet where their records are, or near. Without a shared place, or when they should not, each is alone. */
export function chooseCluster({ settings, services, host, clock, log }: ChooseInput): ChosenCluster {
  const { database, kv } = services
  const has = { redis: kv?.driver === 'redis', sql: database !== undefined }
  const kind = settings.WORKER_CLUSTER_MODE ? preference[settings.WORKER_PERSISTENCE_DRIVER].find((candidate) => has[candidate]) : undefined
  if (kind === 'redis') {
    const prefix = settings.WORKER_PERSISTENCE_REDIS_KEY_PREFIX || host.app.name.replaceAll(' ', '_')
    return { cluster: redisCluster({ redis: () => kv?.redis, prefix, log }), migrations: [] }
  }
  if (kind === 'sql' && database !== undefined) {
    const connection = settings.WORKER_PERSISTENCE_DB_CONNECTION
    const prefix = settings.WORKER_PERSISTENCE_TABLE.replace(/s$/, '')
    const cluster = sqlCluster({ database, connection, prefix, clock, log })
    return { cluster, migrations: onConnection(database, connection, [clusterMigration(prefix), unicodeClusterMigration(prefix)]) }
  }
  return { cluster: memoryCluster({ clock }), migrations: [] }
}
