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
    summary: 'Whether this node may consume jobs; false keeps routes, records and enqueueing',
  },
  DOCKER_WORKER: {
    type: 'bool',
    default: false,
    summary: 'Workers run in separate containers: a node that also serves HTTP consumes no jobs; `zin start --roles worker` does',
  },
  WORKER_CLUSTER_MODE: {
    type: 'bool',
    default: true,
    summary:
      'Whether this node coordinates with the other nodes of the app; false: it sees their changes only when it reads the stored workers again, every 12 × WORKER_INTERVAL_MS',
  },
  WORKER_REGION: {
    type: 'string',
    default: 'us-east-1',
    pattern: '^[a-z0-9-]{3,20}$',
    form: '3 to 20 lower-case letters, digits or -, such as eu-west-1',
    summary: 'Region of this node, for workers whose placement names regions',
  },
  WORKER_INTERVAL_MS: {
    type: 'int',
    default: 5000,
    min: 200,
    max: 60_000,
    summary: 'How often a node polls for changed workers whose messages it missed, in ms',
  },
  WORKER_CONCURRENCY: {
    type: 'int',
    default: 5,
    min: 1,
    max: 1000,
    summary: 'Parallel jobs on one node for workers whose record sets no concurrency',
  },
  WORKER_TIMEOUT: {
    type: 'int',
    default: 60,
    min: 0,
    max: 3600,
    summary: 'Seconds a stopping worker waits for its running jobs before it cancels them',
  },
  WORKER_CONNECTION_TIMEOUT: { type: 'int', default: 5000, min: 100, max: 60_000, summary: 'Timeout of calls to the queue store, in ms' },
  WORKER_RETRIES: {
    type: 'int',
    default: 3,
    min: 1,
    max: 100,
    summary: 'Attempts of a job when neither its options nor its worker set them',
  },
  WORKER_AUTO_START: {
    type: 'bool',
    default: false,
    summary: 'Whether workers start at creation and at boot; false: only an operator starts them',
  },
  WORKER_PRIORITY: { type: 'int', default: 1, min: 0, max: 10, summary: 'Default priority of a job: 0 (Low) to 10 (Critical)' },
  WORKER_PERSISTENCE_DRIVER: {
    type: 'enum',
    default: 'memory',
    values: [...persistenceDrivers],
    summary: 'Default store of worker records; only its workers auto-start',
  },
  WORKER_PERSISTENCE_DB_CONNECTION: { type: 'string', default: 'default', summary: 'Database connection of the driver db' },
  WORKER_PERSISTENCE_TABLE: {
    type: 'string',
    default: 'zin_workers',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,49}$',
    form: 'an identifier of at most 50 letters, digits or _',
    summary: 'Table of the drivers db and edge-sql, collection of docstore',
  },
  WORKER_PERSISTENCE_REDIS_KEY_PREFIX: {
    type: 'string',
    default: '',
    pattern: '^[A-Za-z0-9_.:{}-]{1,100}$',
    form: '1 to 100 letters, digits, _, ., :, {, } or -',
    summary: 'Key prefix of the driver kvstore; empty: the name of the app, spaces replaced by underscores',
  },
  REMOTE_PROCESSOR_ALLOWLIST: {
    type: 'list',
    default: [],
    summary: 'Hosts from which processors may be fetched over https:, each an exact `host` or `host:port`; empty: none',
  },
  PROCESSOR_FETCH_TIMEOUT: {
    type: 'int',
    default: 30_000,
    min: 100,
    max: 600_000,
    summary: 'Timeout of one attempt to fetch a processor, in ms',
  },
  PROCESSOR_FETCH_MAX_SIZE: {
    type: 'int',
    default: 524_288,
    min: 1,
    max: 67_108_864,
    summary: 'Maximum size of a fetched processor, in bytes',
  },
  PROCESSOR_FETCH_RETRY_ATTEMPTS: {
    type: 'int',
    default: 3,
    min: 1,
    max: 20,
    summary: 'Attempts to fetch a processor, including the first; only network errors, 429 and 5xx are retried',
  },
  PROCESSOR_FETCH_RETRY_BACKOFF_MS: {
    type: 'int',
    default: 1000,
    min: 0,
    max: 60_000,
    summary: 'Wait before the second attempt to fetch a processor, in ms; doubled before each further attempt',
  },
  PROCESSOR_CACHE_DEFAULT_TTL: {
    type: 'int',
    default: 3600,
    min: 0,
    max: 31_536_000,
    summary: 'Seconds until a processor without a pin is revalidated, when its host sets no lifetime',
  },
  PROCESSOR_CACHE_MAX_TTL: {
    type: 'int',
    default: 604_800,
    min: 0,
    max: 31_536_000,
    summary: 'Maximum lifetime of a processor that a host can set, in seconds',
  },
  PROCESSOR_CACHE_MAX_SIZE: {
    type: 'int',
    default: 52_428_800,
    min: 0,
    max: 10_737_418_240,
    summary: 'Maximum size of the fetched processors on disk, in bytes; the least recently used are removed first',
  },
  MONGODB_URL: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'MongoDB URL of the driver docstore: mongodb://…/database; the default database has the name of the app',
  },
})

export type WorkerSettings = SettingValues<typeof workerSettings>
