import type { Backoff, WorkerProcessor } from '../types.js'

export type PersistenceDriver = 'memory' | 'kvstore' | 'db'

/** Names that `features` may have. A feature acts when the plugin that owns it is enabled. */
export const featureNames = [
  'resourceMonitoring',
  'observability',
  'healthMonitoring',
  'metrics',
  'autoScaling',
  'circuitBreaker',
  'deadLetterQueue',
  'compliance',
  'plugins',
  'versioning',
  'canary',
  'clustering',
  'datacenter',
] as const
export type FeatureName = (typeof featureNames)[number]

export interface Infrastructure {
  /** The queue store; the app has one, so this only names it. */
  readonly driver?: 'redis' | 'kvstore' | 'embedded'
  /** The app's own connection. */
  readonly redis?: { readonly env: true }
  readonly persistence: {
    readonly driver: PersistenceDriver
    /** As configured by `WORKER_PERSISTENCE_DB_CONNECTION`, `_TABLE` and `_REDIS_KEY_PREFIX`; no other place is opened. */
    readonly connection?: string
    readonly table?: string
    readonly keyPrefix?: string
  }
}

/** What `create` takes. */
export interface CreateWorker {
  /** 3–50 of letters, digits, `_` and `-`; unique. */
  readonly name: string
  /** Same pattern. */
  readonly queueName: string
  /** A function (code only), or a file path under one of the processor roots. Optional when one is registered under `name`. */
  readonly processor?: WorkerProcessor | string
  /** Parallel jobs, 1–1000. Default `WORKER_CONCURRENCY`. */
  readonly concurrency?: number
  /** False: never auto-starts, cannot be started, hidden from listings. Default true. */
  readonly activeStatus?: boolean
  /** False: never auto-starts. Default null: as `WORKER_AUTO_START` says. */
  readonly autoStart?: boolean | null
  /** major.minor.patch, digits only. Default 1.0.0. */
  readonly version?: string
  readonly features?: Readonly<Partial<Record<FeatureName, boolean>>>
  readonly infrastructure?: Omit<Infrastructure, 'persistence'> & { readonly persistence?: Partial<Infrastructure['persistence']> }
  /** At most `max` jobs per `duration` ms. */
  readonly rateLimit?: RateLimit
  readonly jobOptions?: { readonly attempts?: number; readonly backoff?: Backoff }
}

export interface RateLimit {
  readonly max: number
  /** ms. */
  readonly duration: number
}

/** A worker as it is stored: plain JSON, with every default filled in. */
export interface WorkerRecord {
  readonly name: string
  readonly queueName: string
  /** A file path; null: registered in code under the worker's name. */
  readonly processor: string | null
  readonly concurrency: number
  readonly activeStatus: boolean
  readonly autoStart: boolean | null
  readonly version: string
  readonly features: Readonly<Record<string, boolean>>
  readonly infrastructure: Infrastructure
  readonly rateLimit: RateLimit | null
  readonly jobOptions: { readonly attempts?: number; readonly backoff?: Backoff }
}

export interface RecordDefaults {
  readonly concurrency: number
  readonly driver: PersistenceDriver
}

/** Fills in the defaults of a checked input. */
export function recordOf(input: CreateWorker, defaults: RecordDefaults): WorkerRecord {
  const { persistence, ...infrastructure } = input.infrastructure ?? {}
  return {
    name: input.name,
    queueName: input.queueName,
    processor: typeof input.processor === 'string' ? input.processor : null,
    concurrency: input.concurrency ?? defaults.concurrency,
    activeStatus: input.activeStatus ?? true,
    autoStart: input.autoStart ?? null,
    version: input.version ?? '1.0.0',
    features: { ...input.features },
    infrastructure: { ...infrastructure, persistence: { ...persistence, driver: persistence?.driver ?? defaults.driver } },
    rateLimit: input.rateLimit === undefined ? null : { max: input.rateLimit.max, duration: input.rateLimit.duration },
    jobOptions: { ...input.jobOptions },
  }
}
