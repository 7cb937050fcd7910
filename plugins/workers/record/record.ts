import type { WorkerHealthCheck } from '../health/check.js'
import type { WorkerProcessor } from '../processors/processor.js'

export const persistenceDrivers = ['memory', 'kvstore', 'db', 'docstore', 'edge-sql'] as const
export type PersistenceDriver = (typeof persistenceDrivers)[number]

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

/** By name of the feature: one of the list, or one that a plugin brings with `defineWorkerFeature`. */
export type Features = Readonly<Partial<Record<FeatureName, boolean>>> & Readonly<Record<string, boolean>>

/** Where a processor runs: in the app's process, or in threads or processes of its own, from where it does not harm others. */
export const isolations = ['inline', 'thread', 'process'] as const
export type Isolation = (typeof isolations)[number]

/** Which store keeps a record. Every place is opened by the app's configuration or by code, never by a request. */
export interface PersistencePlace {
  readonly driver: PersistenceDriver
  /** Name of a database connection; `db`. */
  readonly connection?: string
  /** Table of `db` and `edge-sql`, collection of `docstore`. */
  readonly table?: string
  /** Key prefix of `kvstore`. */
  readonly keyPrefix?: string
}

export interface Infrastructure {
  /** The queue store; the app has one, so this only names it. */
  readonly driver?: 'redis' | 'kvstore' | 'embedded'
  /** The app's own connection. */
  readonly redis?: { readonly env: true }
  readonly persistence: PersistencePlace
}

export interface RateLimit {
  readonly max: number
  /** ms. */
  readonly duration: number
}

/** How long a job waits for its next attempt: always the delay, or twice as long each time. */
export interface Backoff {
  readonly type: 'fixed' | 'exponential'
  /** ms. */
  readonly delay: number
}

/** The scaled concurrency of a worker, beside the configured one. */
export interface Scaled {
  /** Parallel jobs in one node, 1–1000. */
  readonly concurrency: number
  /** Why, for people. */
  readonly reason: string
  /** ISO 8601. */
  readonly at: string
}

/** Defaults of the jobs of one worker. */
export interface WorkerJobOptions {
  /** 1–100. */
  readonly attempts?: number
  readonly backoff?: Backoff
  /** Longest run of one attempt in ms; then its signal is aborted and the attempt fails. Default: none. */
  readonly timeout?: number
}

/** Which of the app's processes run a worker. */
export interface Placement {
  /** Every eligible process, or so many of them. Default `all`. */
  readonly nodes: 'all' | number
  /** Only processes whose WORKER_REGION is one of these. Default: any. */
  readonly regions?: readonly string[]
}

/** What `create` takes. */
export interface CreateWorker {
  /** 3–50 of letters, digits, `_` and `-`; unique. */
  readonly name: string
  /** Same pattern. */
  readonly queueName: string
  /** A function (code only), a file path under a processor root, or an `https:` URL. Optional when one is registered under `name`. */
  readonly processor?: WorkerProcessor | string
  /** A function (code only), or a file path under a processor root. */
  readonly healthCheck?: WorkerHealthCheck | string
  /** Parallel jobs in one process, 1–1000. Default `WORKER_CONCURRENCY`. */
  readonly concurrency?: number
  /** False: never auto-starts, cannot be started, hidden from listings. Default true. */
  readonly activeStatus?: boolean
  /** False: never auto-starts. Default null: as `WORKER_AUTO_START` says. */
  readonly autoStart?: boolean | null
  /** major.minor.patch, digits only. Default 1.0.0. */
  readonly version?: string
  readonly features?: Features
  /** Plugin → its part of the record, as the plugin's feature declares it. In an update, a plugin that is left out keeps its part, and null removes it. */
  readonly extensions?: Readonly<Record<string, unknown>>
  readonly infrastructure?: Omit<Infrastructure, 'persistence'> & {
    readonly persistence?: Partial<PersistencePlace> & {
      /** Code only: the database, kv, document database or edge binding to keep the record in. Wins over `connection`. */
      readonly client?: unknown
    }
  }
  /** At most `max` jobs per `duration` ms, over all processes. */
  readonly rateLimit?: RateLimit | null
  readonly jobOptions?: WorkerJobOptions
  /** Default `inline`, `process` for a URL, which never runs inline. A function always runs inline. */
  readonly isolation?: Isolation
  readonly placement?: Partial<Placement>
}

/** What `update` may change. Processor and health check belong to versions; name and stores cannot be changed. */
export type UpdateWorker = Partial<
  Pick<
    CreateWorker,
    | 'queueName'
    | 'concurrency'
    | 'activeStatus'
    | 'autoStart'
    | 'features'
    | 'extensions'
    | 'rateLimit'
    | 'jobOptions'
    | 'isolation'
    | 'placement'
  >
>

/** What stays the same over versions: plain JSON, with every default filled in. */
export interface WorkerRecord {
  readonly name: string
  readonly queueName: string
  /** As configured. `scaled.concurrency`, when present, is the effective number. */
  readonly concurrency: number
  readonly scaled?: Scaled
  readonly activeStatus: boolean
  readonly autoStart: boolean | null
  readonly features: Features
  /** Plugin → its part: read it with `of` of the plugin's feature. That of a plugin which is not enabled stays as it is. */
  readonly extensions?: Readonly<Record<string, object>>
  /** Plugin → the version of the schema that its part was written by. */
  readonly extensionVersions?: Readonly<Record<string, number>>
  readonly infrastructure: Infrastructure
  readonly rateLimit: RateLimit | null
  readonly jobOptions: WorkerJobOptions
  readonly isolation: Isolation
  readonly placement: Placement
}

/** One version of what a worker runs, as it is stored. */
export interface VersionRecord {
  /** major.minor.patch. */
  readonly version: string
  readonly description: string
  /** A file path or URL; null: registered in code as `<name>@<version>`, or as `<name>`. */
  readonly processor: string | null
  /** A file path; null: none, or registered in code. */
  readonly healthCheck: string | null
  /** ms since 1970. */
  readonly createdAt: number
  /** When it was activated last, ms since 1970; null: never. */
  readonly activatedAt: number | null
  /** Until it is activated again. */
  readonly refused?: RefusedVersion
}

/** Why a version must not run: its rollout halted, or a plugin refused it. */
export interface RefusedVersion {
  /** `workers`: its rollout halted. Else the plugin that called `refuseVersion`. */
  readonly by: string
  readonly reason: string
  readonly evidence?: Readonly<Record<string, unknown>>
  /** ms since 1970. */
  readonly at: number
}

/** What `refuseVersion` takes. */
export interface VersionRefusal {
  /** One sentence for people, at most 500 characters. */
  readonly reason: string
  /** What led to it: at most 4096 characters of JSON. */
  readonly evidence?: Readonly<Record<string, unknown>>
}

/** What `registerVersion` takes. */
export interface RegisterVersion {
  readonly version: string
  /** At most 1000 characters. Default empty. */
  readonly description?: string
  readonly processor?: WorkerProcessor | string
  readonly healthCheck?: WorkerHealthCheck | string
}
