import type { WorkerHealthCheck } from '../health/check.js'
import type { WorkerProcessor } from '../processors/processor.js'

export const persistenceDrivers = ['memory', 'kvstore', 'db', 'docstore', 'edge-sql'] as const
export type PersistenceDriver = (typeof persistenceDrivers)[number]

/** Built-in names of `features`. A feature is active when the plugin that owns it is enabled. */
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

/** By feature name: a built-in one, or one that a plugin declares with `defineWorkerFeature`. */
export type Features = Readonly<Partial<Record<FeatureName, boolean>>> & Readonly<Record<string, boolean>>

/** Where a processor runs: in the process of the app, or isolated in child threads or processes. */
export const isolations = ['inline', 'thread', 'process'] as const
export type Isolation = (typeof isolations)[number]

/** The location of a record. Locations are opened by the configuration of the app or by code, never by a request. */
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

/** The wait before the next attempt of a job: always the delay, or doubled each time. */
export interface Backoff {
  readonly type: 'fixed' | 'exponential'
  /** ms: the wait before each retry, or before the first one, which then doubles. 0 to 86400000. */
  readonly delay: number
  /** The longest wait in ms, jitter included: 1 to 31536000000. Default 86400000, 24 h. */
  readonly max?: number
  /** The largest share of a wait that is left out at random, so that jobs that failed together do not retry together: 0 to 1. Default 0. */
  readonly jitter?: number
}

/** The scaled concurrency of a worker, which overrides the configured one. */
export interface Scaled {
  /** Parallel jobs on one node, 1–1000. */
  readonly concurrency: number
  /** Human-readable reason. */
  readonly reason: string
  /** ISO 8601. */
  readonly at: string
}

/** Defaults of the jobs of one worker. */
export interface WorkerJobOptions {
  /** 1–100. */
  readonly attempts?: number
  readonly backoff?: Backoff
  /** Timeout of one attempt, in ms; then its signal is aborted and the attempt fails. Default: none. */
  readonly timeout?: number
}

/** Which nodes of the app run a worker. */
export interface Placement {
  /** Every eligible node, or this number of them. Default `all`. */
  readonly nodes: 'all' | number
  /** Only nodes whose WORKER_REGION is one of these. Default: any. */
  readonly regions?: readonly string[]
}

/** The input of `create`. */
export interface CreateWorker {
  /** 3–50 letters, digits, `_` or `-`; unique. */
  readonly name: string
  /** Same pattern. */
  readonly queueName: string
  /** A function (code only), a file path under a processor root, or an `https:` URL. Optional when one is registered under `name`. */
  readonly processor?: WorkerProcessor | string
  /** A function (code only), or a file path under a processor root. */
  readonly healthCheck?: WorkerHealthCheck | string
  /** Parallel jobs on one node, 1–1000. Default `WORKER_CONCURRENCY`. */
  readonly concurrency?: number
  /** False: never auto-starts, cannot be started, hidden from listings. Default true. */
  readonly activeStatus?: boolean
  /** False: never auto-starts. Default null: as `WORKER_AUTO_START`. */
  readonly autoStart?: boolean | null
  /** major.minor.patch, digits only. Default 1.0.0. */
  readonly version?: string
  readonly features?: Features
  /** Plugin → its part of the record, in the shape that its feature declares. In an update, an omitted part stays, and null removes it. */
  readonly extensions?: Readonly<Record<string, unknown>>
  readonly infrastructure?: Omit<Infrastructure, 'persistence'> & {
    readonly persistence?: Partial<PersistencePlace> & {
      /** Code only: the database, kv, document database or edge binding that stores the record. Takes precedence over `connection`. */
      readonly client?: unknown
    }
  }
  /** At most `max` jobs per `duration` ms, over all nodes and all workers of its queue; of several limits, the strictest holds. */
  readonly rateLimit?: RateLimit | null
  readonly jobOptions?: WorkerJobOptions
  /** Default `inline`; `process` for a URL, which never runs inline. A function always runs inline. */
  readonly isolation?: Isolation
  readonly placement?: Partial<Placement>
}

/** The input of `update`. Processor and health check belong to versions; name and stores cannot be changed. */
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

/** The part of a worker that does not depend on the version: plain JSON, with every default filled in. */
export interface WorkerRecord {
  readonly name: string
  readonly queueName: string
  /** As configured. `scaled.concurrency`, when present, is the effective number. */
  readonly concurrency: number
  readonly scaled?: Scaled
  readonly activeStatus: boolean
  readonly autoStart: boolean | null
  readonly features: Features
  /** Plugin → its part: read it with `of` of the plugin's feature. The part of a plugin that is not enabled stays unchanged. */
  readonly extensions?: Readonly<Record<string, object>>
  /** Plugin → the version of the schema with which its part was written. */
  readonly extensionVersions?: Readonly<Record<string, number>>
  readonly infrastructure: Infrastructure
  readonly rateLimit: RateLimit | null
  readonly jobOptions: WorkerJobOptions
  readonly isolation: Isolation
  readonly placement: Placement
}

/** A stored version of the code that a worker runs. */
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
  /** Set until the version is activated again. */
  readonly refused?: RefusedVersion
}

/** Why a version must not run: its rollout halted, or a plugin refused it. */
export interface RefusedVersion {
  /** `workers`: its rollout halted. Otherwise the plugin that called `refuseVersion`. */
  readonly by: string
  readonly reason: string
  readonly evidence?: Readonly<Record<string, unknown>>
  /** ms since 1970. */
  readonly at: number
}

/** The input of `refuseVersion`. */
export interface VersionRefusal {
  /** One human-readable sentence, at most 500 characters. */
  readonly reason: string
  /** The facts behind the reason: at most 4096 characters of JSON. */
  readonly evidence?: Readonly<Record<string, unknown>>
}

/** The input of `registerVersion`. */
export interface RegisterVersion {
  readonly version: string
  /** At most 1000 characters. Default empty. */
  readonly description?: string
  readonly processor?: WorkerProcessor | string
  readonly healthCheck?: WorkerHealthCheck | string
}
