import { defineSettings, type SettingValues } from 'zin'

export const workerSettings = defineSettings({
  WORKERS_ENABLED: { type: 'bool', default: true, summary: 'Worker management; false: no routes, no commands, and nothing consumes jobs' },
  WORKER_ENABLED: {
    type: 'bool',
    default: true,
    summary: 'Whether this process may consume jobs; false keeps routes, records and enqueueing',
  },
  WORKER_CONCURRENCY: { type: 'int', default: 5, min: 1, max: 1000, summary: 'Parallel jobs of a worker whose record gives none' },
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
    values: ['memory', 'kvstore', 'db'],
    summary: 'Store of worker records that name none; only its workers auto-start',
  },
  WORKER_PERSISTENCE_DB_CONNECTION: { type: 'string', default: 'default', summary: 'Database connection of the driver db' },
  WORKER_PERSISTENCE_TABLE: {
    type: 'string',
    default: 'zin_workers',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$',
    summary: 'Table of the driver db',
  },
  WORKER_PERSISTENCE_REDIS_KEY_PREFIX: {
    type: 'string',
    default: '',
    pattern: '^[A-Za-z0-9_.:{}-]{1,100}$',
    summary: 'Key prefix of the driver kvstore; empty: the name of the app, spaces replaced by underscores',
  },
})

export type WorkerSettings = SettingValues<typeof workerSettings>
