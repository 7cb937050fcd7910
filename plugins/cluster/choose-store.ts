import type { Clock, HostView, Logger, SettingValues } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { clusterErrors } from './errors.js'
import type { clusterSettings } from './settings.js'
import type { ClusterStore } from './store/contract.js'
import { memoryStore } from './store/memory.js'
import { redisStore } from './store/redis/redis.js'
import { sqlStore } from './store/sql/sql.js'

export interface ChooseStoreOptions {
  readonly settings: SettingValues<typeof clusterSettings>
  readonly services: { readonly database: Database | undefined; readonly kv: Kv | undefined }
  readonly host: Pick<HostView, 'app'>
  readonly clock: Clock
  readonly log: Logger
}

/** The store that the settings select. Throws CLUSTER_MISCONFIGURED when its plugin is not enabled. */
export function chooseStore({ settings, services, host, clock, log }: ChooseStoreOptions): ClusterStore {
  const { database, kv } = services
  const name = settings.CLUSTER_NAME || host.app.name
  const onRedis = kv?.driver === 'redis'
  const driver =
    settings.CLUSTER_DRIVER === 'auto' ? (onRedis ? 'redis' : database === undefined ? 'memory' : 'sql') : settings.CLUSTER_DRIVER
  switch (driver) {
    case 'redis':
      if (!onRedis)
        throw clusterErrors.CLUSTER_MISCONFIGURED('CLUSTER_DRIVER is redis; set REDIS_URL and add kv() to plugins in zin.config.ts')
      return redisStore({ redis: () => kv.redis, name, log })
    case 'sql':
      if (database === undefined)
        throw clusterErrors.CLUSTER_MISCONFIGURED('CLUSTER_DRIVER is sql; add database() to plugins in zin.config.ts')
      return sqlStore({ database, name, clock, log })
    case 'memory':
      return memoryStore({ clock })
  }
}
