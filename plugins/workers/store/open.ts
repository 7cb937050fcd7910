import type { HostView } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { workerErrors } from '../errors.js'
import type { PersistenceDriver, PersistencePlace } from '../record/record.js'
import type { WorkerSettings } from '../settings.js'
import { isDatabase, isEdgeSqlBinding, isKv, isMongoDb } from './clients.js'
import type { WorkerStore } from './contract.js'
import { dbStore } from './db.js'
import { docStore } from './docstore.js'
import { edgeSqlStore, isEdgeSqlUnavailable } from './edge-sql.js'
import { guarded } from './guarded.js'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { isMongoUnavailable, Mongo } from './mongo.js'
import { redisStore } from './redis.js'
import type { OpenStore } from './registry.js'

export interface StoresInput {
  readonly host: Pick<HostView, 'app'>
  readonly settings: WorkerSettings
  readonly services: { readonly database: Database | undefined; readonly kv: Kv | undefined }
  /** The D1-style binding that the driver `edge-sql` uses for workers without their own. */
  readonly edgeSql?: unknown
}

export interface OpenStores {
  /** One store per driver that the plugins and settings of the app allow, including the configured one. */
  readonly stores: readonly WorkerStore[]
  readonly open: OpenStore
  /** Closes the connections that the stores opened themselves. */
  close(): Promise<void>
}

type Opener = (place: PersistencePlace, client: unknown) => WorkerStore

/** Opens the stores of the app, and others on demand. Each connects on first use. */
export function openStores({ host, settings, services, edgeSql }: StoresInput): OpenStores {
  const { MONGODB_URL: url, WORKER_CONNECTION_TIMEOUT: timeoutMs, WORKER_PERSISTENCE_DRIVER: configured } = settings
  const { WORKER_PERSISTENCE_DB_CONNECTION: ownConnection, WORKER_PERSISTENCE_TABLE: ownTable } = settings
  const ownPrefix = settings.WORKER_PERSISTENCE_REDIS_KEY_PREFIX || host.app.name.replaceAll(' ', '_')
  const { name: appName } = host.app
  const mongo = url === '' ? undefined : new Mongo({ url, fallback: appName, timeoutMs, appName })

  const openers: Readonly<Record<PersistenceDriver, Opener>> = {
    memory(place, client) {
      if (client !== undefined) throw workerErrors.INVALID_PERSISTENCE_CONFIG('the driver memory does not accept a client')
      takesOnly(place, [])
      return memoryStore()
    },
    kvstore(place, client) {
      takesOnly(place, ['keyPrefix'])
      const kv = required(clientOf(client, isKv, 'a key-value store (the service of the plugin kv)') ?? services.kv, missing.kvstore)
      const keyPrefix = place.keyPrefix ?? ownPrefix
      const onRedis = kv.driver === 'redis'
      const where = `kvstore (the plugin kv, on ${onRedis ? 'Redis' : 'the database'})`
      return guarded(onRedis ? redisStore(kv, keyPrefix) : kvStore(kv, keyPrefix), (error) => kv.isUnavailable(error), where)
    },
    db(place, client) {
      takesOnly(place, ['connection', 'table'])
      const given = clientOf(client, isDatabase, 'a database (the service of the plugin database)')
      const database = required(given ?? services.database, missing.db)
      const connection = given === undefined ? (place.connection ?? ownConnection) : 'default'
      const table = place.table ?? ownTable
      // Only the table of the settings is known when migrations run.
      const migrated = given === undefined && connection === ownConnection && table === ownTable
      databaseKnows(database, connection)
      return guarded(dbStore(database, { connection, table, migrated }), (error) => database.isUnavailable(error))
    },
    docstore(place, client) {
      takesOnly(place, ['table'])
      const given = clientOf(client, isMongoDb, 'a database of the package mongodb (Db)')
      const owner = given === undefined ? required(mongo, missing.docstore) : undefined
      return guarded(
        docStore(async () => given ?? required(owner, missing.docstore).database(), place.table ?? ownTable),
        isMongoUnavailable,
      )
    },
    'edge-sql'(place, client) {
      takesOnly(place, ['table'])
      const binding = clientOf(client ?? edgeSql, isEdgeSqlBinding, 'an edge SQL binding (with prepare)')
      return guarded(edgeSqlStore(required(binding, missing['edge-sql']), place.table ?? ownTable), isEdgeSqlUnavailable)
    },
  }
  const open: OpenStore = (place, client) => openers[place.driver](place, client)
  const present: Readonly<Record<PersistenceDriver, boolean>> = {
    memory: true,
    kvstore: services.kv !== undefined,
    db: services.database !== undefined,
    docstore: mongo !== undefined,
    'edge-sql': edgeSql !== undefined,
  }
  if (!present[configured])
    throw workerErrors.WORKERS_MISCONFIGURED(`WORKER_PERSISTENCE_DRIVER is ${configured}, but ${missing[configured]}`)
  const drivers = (Object.keys(present) as PersistenceDriver[]).filter((driver) => present[driver])
  return {
    stores: drivers.map((driver) => open({ driver }, undefined)),
    open,
    close: async () => mongo?.close(),
  }
}

/** What is missing for each driver. */
const missing: Readonly<Record<PersistenceDriver, string>> = {
  memory: 'nothing is missing',
  kvstore: 'it needs the plugin kv in zin.config.ts',
  db: 'it needs the plugin database in zin.config.ts',
  docstore: 'it needs MONGODB_URL',
  'edge-sql': 'it needs an edge SQL binding, which must be passed in code',
}

function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw workerErrors.INVALID_PERSISTENCE_CONFIG(what)
  return value
}

function clientOf<T>(client: unknown, is: (value: unknown) => value is T, what: string): T | undefined {
  if (client === undefined || is(client)) return client
  throw workerErrors.INVALID_PERSISTENCE_CONFIG(`"client" must be ${what} for this driver`)
}

function takesOnly({ driver, ...place }: PersistencePlace, keys: readonly string[]): void {
  const extra = Object.entries(place).find(([key, value]) => value !== undefined && !keys.includes(key))
  if (extra !== undefined) throw workerErrors.INVALID_PERSISTENCE_CONFIG(`the driver ${driver} does not support ${extra[0]}`)
}

function databaseKnows(database: Database, connection: string): void {
  try {
    database.dialectOf(connection)
  } catch {
    throw workerErrors.INVALID_PERSISTENCE_CONFIG(
      `no database connection is named "${connection}"; add it to database({ connections }) in zin.config.ts`,
    )
  }
}
