import { defineSettings, type SettingValues } from 'zin'
import { persistenceDrivers } from './record/record.js'

export const workerSettings = defineSettings({
  WORKERS_ENABLED: {
    type: 'bool',
    default: true,
    summary: 'Worker management; false: no routes, no commands, and nothing consumes jobs; the service still keeps records and adds jobs',
  },
  WORKER_ENABLED: {
    type: 'bool',
    default: true,
    summary: 'Whether this process may consume jobs; false keeps routes, records and enqueueing',
  },
  DOCKER_WORKER: {
    type: 'bool',
    default: false,
    summary: 'Workers run in containers of their own: a process that also serves HTTP consumes no jobs, `zin start --roles worker` does',
  },
  WORKER_CLUSTER_MODE: {
    type: 'bool',
    default: true,
    summary:
      'Whether this process acts as one with the others of the app; false: it hears of their changes only when it reads the stored workers anew, every 12 WORKER_INTERVAL_MS at the latest',
  },
  WORKER_REGION: {
    type: 'string',
    default: 'us-east-1',
    pattern: '^[a-z0-9-]{3,20}$',
    summary: 'Where this process runs, for workers that are placed by region',
  },
  WORKER_INTERVAL_MS: {
    type: 'int',
    default: 5000,
    min: 200,
    max: 60_000,
    summary: 'How often a process asks which workers changed, for changes that it did not hear of, in ms',
  },
  WORKER_CONCURRENCY: {
    type: 'int',
    default: 5,
    min: 1,
    max: 1000,
    summary: 'Parallel jobs in one process of a worker whose record gives none',
  },
  WORKER_TIMEOUT: {
    type: 'int',
    default: 60,
    min: 0,
    max: 3600,
    summary: 'Seconds a stopping worker waits for its running jobs before it cancels them',
  },
  WORKER_CONNECTION_TIMEOUT: { type: 'int', default: 5000, min: 100, max: 60_000, summary: 'Longest wait for the queue store, in ms' },
  WORKER_RETRIES: {
    type: 'int',
    default: 3,
    min: 1,
    max: 100,
    summary: 'Attempts of a job when neither its options nor its worker say otherwise',
  },
  WORKER_AUTO_START: {
    type: 'bool',
    default: false,
    summary: 'Whether workers start at creation and at boot; false: only an operator starts them',
  },
  WORKER_PRIORITY: { type: 'int', default: 1, min: 0, max: 10, summary: 'Priority of a job that gives none: 0 (Low) to 10 (Critical)' },
  WORKER_PERSISTENCE_DRIVER: {
    type: 'enum',
    default: 'memory',
    values: [...persistenceDrivers],
    summary: 'Store of worker records that name none; only its workers auto-start',
  },
  WORKER_PERSISTENCE_DB_CONNECTION: { type: 'string', default: 'default', summary: 'Database connection of the driver db' },
  WORKER_PERSISTENCE_TABLE: {
    type: 'string',
    default: 'zin_workers',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,49}$',
    summary: 'Table of the drivers db and edge-sql, collection of docstore',
  },
  WORKER_PERSISTENCE_REDIS_KEY_PREFIX: {
    type: 'string',
    default: '',
    pattern: '^[A-Za-z0-9_.:{}-]{1,100}$',
    summary: 'Key prefix of the driver kvstore; empty: the name of the app, spaces replaced by underscores',
  },
  REMOTE_PROCESSOR_ALLOWLIST: {
    type: 'list',
    default: [],
    summary: 'Hosts that processors may be fetched from over https:, `host` or `host:port`, each exactly; empty: none',
  },
  PROCESSOR_FETCH_TIMEOUT: {
    type: 'int',
    default: 30_000,
    min: 100,
    max: 600_000,
    summary: 'Longest time of one attempt to fetch a processor, in ms',
  },
  PROCESSOR_FETCH_MAX_SIZE: {
    type: 'int',
    default: 524_288,
    min: 1,
    max: 67_108_864,
    summary: 'Largest processor that is fetched, in bytes',
  },
  PROCESSOR_FETCH_RETRY_ATTEMPTS: {
    type: 'int',
    default: 3,
    min: 1,
    max: 20,
    summary: 'Attempts to fetch a processor, the first included; only network errors, 429 and 5xx are tried again',
  },
  PROCESSOR_FETCH_RETRY_BACKOFF_MS: {
    type: 'int',
    default: 1000,
    min: 0,
    max: 60_000,
    summary: 'Wait before the second attempt to fetch a processor, in ms; doubled before each further one',
  },
  PROCESSOR_CACHE_DEFAULT_TTL: {
    type: 'int',
    default: 3600,
    min: 0,
    max: 31_536_000,
    summary: 'How long a processor without a pin is used before its host is asked again, when the host says nothing, in seconds',
  },
  PROCESSOR_CACHE_MAX_TTL: {
    type: 'int',
    default: 604_800,
    min: 0,
    max: 31_536_000,
    summary: 'The longest such time that a host can ask for, in seconds',
  },
  PROCESSOR_CACHE_MAX_SIZE: {
    type: 'int',
    default: 52_428_800,
    min: 0,
    max: 10_737_418_240,
    summary: 'Fetched processors kept on disk, in bytes; what was not used for longest goes first',
  },
  MONGODB_URL: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'MongoDB of the driver docstore: mongodb://…/database; without a database, the one named as the app',
  },
})

export type WorkerSettings = SettingValues<typeof workerSettings>
