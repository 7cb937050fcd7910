import { defineService } from 'zin'
import type { CheckReport, WorkerHealthCheck } from './health/check.js'
import type { HealthReport } from './health/score.js'
import type { CancelOutcome, EnqueueOptions, FlowJob, FlowSpec, JobCounts, ScheduleSpec, ScheduleView, WorkerJob } from './jobs/types.js'
import type { JobMiddleware, JobMiddlewareOptions } from './node/job-middleware.js'
import type { VersionRoute } from './node/version-routes.js'
import type { ProcessorResolver, WorkerProcessor } from './processors/processor.js'
import type { WorkerFeature } from './record/define-feature.js'
import type { CreateWorker, RegisterVersion, Scaled, UpdateWorker, WorkerRecord } from './record/record.js'
import type { KnownNode, WorkerCounts, WorkerState } from './shared/contract.js'

/** Attempts of a worker over all processes since it was made. `successRate` is 0–1 and 1 before the first attempt; `avgDuration` is in ms. */
export interface WorkerMetrics {
  readonly completed: number
  readonly failed: number
  readonly successRate: number
  readonly avgDuration: number
}

/** The rollout of the version that was activated last, until every process runs it. */
export interface RolloutView {
  readonly version: string
  /** `halted`: a process could not run it, and no other takes it until a version is activated. */
  readonly state: 'rolling' | 'halted'
  /** Processes that run it, of those that run the worker. */
  readonly taken: number
  readonly of: number
  /** When halted: where, and why. */
  readonly node?: string
  readonly code?: string
  readonly error?: string
  /** ISO 8601. */
  readonly at?: string
}

export interface WorkerStatus {
  readonly name: string
  readonly state: WorkerState
  /** The one that takes new jobs; while a rollout goes on, and after one that failed, the one before. */
  readonly version: string
  /** The one that was activated last. */
  readonly desiredVersion: string
  /** Integer 0–100; `GET /api/workers/:name/health` shows its terms. */
  readonly health: number
  readonly queue: string
  /** Whether the whole queue is paused, which only tools for queues do: no worker of it takes jobs then. Null: the queue store does not answer. */
  readonly queuePaused: boolean | null
  /** Parallel jobs in one node: what it was scaled to, else as its record says. */
  readonly concurrency: number
  /** While it is scaled: to how many, why and since when. */
  readonly scaled?: Scaled
  /** Absent when every process runs the version that was activated last. */
  readonly rollout?: RolloutView
  readonly metrics: WorkerMetrics
}

/** What one process does for a worker; one whose lease has ended is `unknown`. */
export interface WorkerOnNode {
  readonly node: string
  readonly state: WorkerState
  readonly observedGeneration: number
  /** Whether the placement chose it. */
  readonly placed: boolean
  readonly version: string | null
  /** The version that was activated and does not run here yet. */
  readonly awaits?: string
  readonly draining: Readonly<Record<string, number>>
  /** Versions loaded beside the active one, with their running jobs; `error`: why one could not be loaded. Absent: none. */
  readonly candidates?: readonly { readonly version: string; readonly busy: number; readonly error?: string }[]
  readonly concurrency: number
  readonly busy: number
  readonly error?: string
  /** ISO 8601. */
  readonly at: string
}

/** A process of the app, as the API shows it. */
export interface NodeView extends Omit<KnownNode, 'startedAt' | 'leaseUntil'> {
  /** ISO 8601. */
  readonly startedAt: string
  /** When its lease ends or ended, ISO 8601. */
  readonly leaseUntil: string
}

/** A worker as the API shows it. */
export interface WorkerView extends WorkerRecord {
  /** The one that takes new jobs; while a rollout goes on, and after one that failed, the one before. */
  readonly version: string
  /** The one that was activated last. */
  readonly desiredVersion: string
  /** Of `version`. */
  readonly processor: string | null
  readonly healthCheck: string | null
  readonly state: WorkerState
  /** `active` while running. */
  readonly status: 'active' | 'inactive'
  readonly desired: 'running' | 'stopped'
  readonly paused: boolean
  readonly generation: number
  /** Least generation that all its processes have applied; 0 before the first. */
  readonly observedGeneration: number
  /** Why the last step failed in some process, until one succeeds there. */
  readonly lastError?: string
  /** Features that are true and do not act, since the plugin that brings them is not enabled. Absent when there are none. */
  readonly inactiveFeatures?: readonly string[]
  /** Absent when every process runs the version that was activated last. */
  readonly rollout?: RolloutView
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
}

/**
 * `pending`: it goes on, or waits for a process that may run the worker. `applied`: every target has applied it. `failed`: some could
 * not. `halted`: of an activation: a process could not run the version, and no other takes it.
 */
export type OperationState = 'pending' | 'applied' | 'failed' | 'halted'

/** A change of the desired state: which processes should apply it, and which have. */
export interface Operation {
  readonly id: string
  readonly state: OperationState
  readonly generation: number
  /** Empty: no living process may run the worker. */
  readonly targets: readonly string[]
  readonly applied: readonly string[]
  /** What the targets that could not apply it say. */
  readonly failed: readonly FailedTarget[]
}

export interface FailedTarget {
  readonly node: string
  readonly code: string
  readonly message: string
  /** The HTTP status that goes with the code. */
  readonly status: number
}

export interface OperationResult {
  readonly message: string
  readonly worker: WorkerView
  readonly operation: Operation
}

export interface OperationOptions {
  /** How long to wait until it is applied, in ms. Default 10000. */
  readonly waitMs?: number
}

export interface ScaleOptions extends OperationOptions {
  /** Why, for people: at most 500 characters. Default empty. */
  readonly reason?: string
}

export interface CreateOptions extends OperationOptions {
  /** `configured`: the record may name only stores that the app knows; for input from outside. Default `any`, for code. */
  readonly places?: 'any' | 'configured'
}

/**
 * `activating`: some processes still run another one. `refused`: its rollout halted, since a process could not run it. `draining`:
 * replaced, and some still run jobs of it. `drained`: none do.
 */
export type VersionState = 'registered' | 'activating' | 'active' | 'refused' | 'draining' | 'drained'

export interface VersionView {
  readonly version: string
  readonly description: string
  readonly processor: string | null
  readonly healthCheck: string | null
  readonly state: VersionState
  /** Processes that give new jobs to it. */
  readonly nodes: readonly string[]
  /** Its jobs that run right now. */
  readonly busy: number
  /** ISO 8601. */
  readonly createdAt: string
  readonly activatedAt: string | null
}

/** What happened to a worker, as `GET /api/workers/events` tells it. */
export interface WorkerEvent {
  /** `changed`: its record or desired state. `status`: what one process does. `node`: a process joined or left. */
  readonly type: 'changed' | 'status' | 'removed' | 'node'
  readonly worker?: string
  readonly node?: string
  readonly state?: WorkerState
  readonly generation?: number
  /** With `status`: the one that takes new jobs there. */
  readonly version?: string | null
  /** With `changed`: the one that was activated last. */
  readonly desiredVersion?: string
  readonly error?: string
  /** ISO 8601. */
  readonly at: string
}

/** A worker that runs in this process, for plugins that watch over it. */
export interface LocalWorker {
  readonly name: string
  readonly version: string
  readonly state: WorkerState
  /** Attempts that its route sent to a version which is not loaded here. */
  readonly routeFallbacks: number
  /** Whether its health checks should run. */
  readonly monitored: boolean
  readonly features: WorkerRecord['features']
  /** The active version's own check. */
  readonly healthCheck: WorkerHealthCheck | undefined
}

/** The workers of this process. */
export interface LocalWorkers {
  /** Names this process among all of the app, as `nodes` do. */
  readonly node: string
  list(): readonly LocalWorker[]
  /** Makes a running worker FAILED here: it takes no more jobs until it is restarted. */
  fail(name: string, error: Error): Promise<void>
  /** Notes the outcome of a health check, for all processes to see. */
  reportCheck(name: string, report: CheckReport): void
}

export interface CountsOptions {
  /** ms since 1970, at most 24 h ago: attempts count from the start of its minute. Default: an hour ago. */
  readonly since?: number
  /** One entry for each version. Default false. */
  readonly byVersion?: boolean
  /** One entry for each minute with attempts. Default false. */
  readonly byMinute?: boolean
}

export interface ListOptions {
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–100. Default 100. */
  readonly limit?: number
  readonly status?: 'active' | 'inactive'
  /** Also list workers whose `activeStatus` is false. Default false. */
  readonly includeInactive?: boolean
}

export interface WorkerPage {
  readonly workers: readonly WorkerView[]
  readonly pagination: { readonly page: number; readonly limit: number; readonly total: number; readonly totalPages: number }
}

/**
 * Background workers: records with a desired state, and the processes that bring it about.
 * Every refusal is a ZinError with a code and an HTTP status.
 */
export interface Workers {
  /** False with `WORKERS_ENABLED=false`: there are no routes and no commands, and nothing consumes jobs. */
  readonly enabled: boolean
  /** Stores a new worker, and starts it when the auto-start rule says so. 409 WORKER_EXISTS. */
  create(worker: CreateWorker, options?: CreateOptions): Promise<WorkerView>
  /** Changes some fields of the record; processes apply what they can without a stop. 409 WORKER_HAS_SCHEDULES: not its queue. */
  update(name: string, changes: UpdateWorker, options?: OperationOptions): Promise<OperationResult>
  /** Starting a running worker succeeds and changes nothing. 410 WORKER_INACTIVE. */
  start(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Lets running jobs end within `WORKER_TIMEOUT`, then cancels them. Survives a reboot. */
  stop(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Stops and starts; starts a stopped or FAILED one. */
  restart(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Takes no more jobs, and keeps its processes ready; running jobs go on. */
  pause(name: string, options?: OperationOptions): Promise<OperationResult>
  resume(name: string, options?: OperationOptions): Promise<OperationResult>
  /**
   * Runs so many jobs in parallel in each node, beside the `concurrency` that its user asked for; null returns to that. Running jobs go
   * on, and nothing restarts. What is scaled stays so over reboots, also when the user's own number changes.
   *
   * @param concurrency 1–1000, or null.
   * @example
   * const { workers } = ctx.services
   * await workers.scale('email-sender', 20, { reason: '900 jobs wait, the oldest for 80 s' })
   * await workers.scale('email-sender', null)
   */
  scale(name: string, concurrency: number | null, options?: ScaleOptions): Promise<OperationResult>
  /** Starts or stops its health checks. */
  monitor(name: string, on: boolean, options?: OperationOptions): Promise<OperationResult>
  /** Stops and forgets a worker and its schedules. Its queue and jobs stay. */
  remove(name: string, options?: OperationOptions): Promise<void>
  get(name: string): Promise<WorkerView>
  list(options?: ListOptions): Promise<WorkerPage>
  status(name: string): Promise<WorkerStatus>
  metrics(name: string): Promise<WorkerMetrics & { readonly counts: JobCounts }>
  /**
   * Attempts of many workers over all nodes and their run times, in one round trip: since `since`, in all or by version and by minute.
   * Workers without attempts, with `features.metrics` false, and that do not exist have no entry. The order is that of the names, then of
   * the minutes, then of the versions. 400 INVALID_COUNTS_QUERY.
   *
   * @param names at most 1,000, and names times minutes at most 100,000: all 1,000 over 100 minutes, or 69 over 24 h.
   * @example
   * const lastTenMinutes = { since: Date.now() - 600_000, byVersion: true }
   * for (const { version, completed, failed, durations } of await workers.counts(['email-sender'], lastTenMinutes)) {
   *   console.log(version, failed / (completed + failed), percentile(durations, 0.95))
   * }
   */
  counts(names: readonly string[], options?: CountsOptions): Promise<readonly WorkerCounts[]>
  /** The health score with its terms, and the last checks of every process. */
  health(name: string): Promise<HealthReport>
  /** An operation of the last 24 h, and how far it has come. 404 OPERATION_NOT_FOUND. */
  operation(name: string, id: string): Promise<Operation>
  /** What each process does for a worker. */
  nodesOf(name: string): Promise<readonly WorkerOnNode[]>
  /** The processes of the app, and those lost lately. */
  nodes(): Promise<readonly NodeView[]>

  /** Adds a version without using it. 409 VERSION_EXISTS. */
  registerVersion(name: string, version: RegisterVersion): Promise<VersionView>
  versions(name: string): Promise<readonly VersionView[]>
  /** Rolling: one process after another gives new jobs to it, and a process in which it is not healthy keeps the one before. */
  activate(name: string, version: string, options?: OperationOptions): Promise<OperationResult>

  /**
   * Loads versions beside the active one in every process that runs the worker, when they are healthy, for the jobs that
   * {@link routeVersions} gives them; at most 5, an empty list ends it. Activating one makes it the active version. Processes show
   * theirs in `nodesOf`. Throws 404 VERSION_NOT_FOUND, and what the processes say when none of them could load one.
   */
  setCandidates(name: string, versions: readonly string[], options?: OperationOptions): Promise<OperationResult>
  /**
   * Chooses in this process which version runs each job of a worker. A version that is neither active nor a loaded candidate falls back
   * to the active one, which is logged once and counted in `local`. One route for each worker: 409 VERSIONS_ROUTED. Returns what
   * removes it.
   *
   * @example
   * await workers.setCandidates('emails', ['2.0.0'])
   * const remove = workers.routeVersions('emails', (job) => (Number(job.id) % 20 === 0 ? '2.0.0' : undefined))
   */
  routeVersions(name: string, route: VersionRoute): () => void

  /** Adds a job to the worker's queue, whether the worker runs or not. `data` must be JSON. */
  enqueue(name: string, data: unknown, options?: EnqueueOptions): Promise<{ readonly id: string; readonly queue: string }>
  /** Adds a tree of jobs at once; a job runs when its children are done. */
  enqueueFlow(flow: FlowSpec): Promise<FlowJob>
  job(name: string, id: string): Promise<WorkerJob>
  /** Removes a waiting job, or aborts the signal of a running one wherever it runs. */
  cancelJob(name: string, id: string, reason?: string): Promise<CancelOutcome>
  /** Adds or replaces a recurring job. `id` is unique within the worker: 1–100 of letters, digits, `_`, `.` and `-`. */
  schedule(name: string, id: string, spec: ScheduleSpec): Promise<ScheduleView>
  schedules(name: string): Promise<readonly ScheduleView[]>
  /** 404 SCHEDULE_NOT_FOUND. */
  unschedule(name: string, id: string): Promise<void>

  /** Gives the processor of the worker named `name`, or of one version as `name@1.2.3`; a later call replaces it. Returns what withdraws it. */
  register(name: string, processor: WorkerProcessor): () => void
  registerAll(processors: Readonly<Record<string, WorkerProcessor>>): () => void
  /** Worker name → file path, loaded when the worker starts. */
  registerPaths(paths: Readonly<Record<string, string>>): () => void
  /** Asked for names that nothing is registered under. */
  registerResolver(resolver: ProcessorResolver): () => void
  /** The code behind a URL, compiled in: used for a record whose processor is exactly this text, with no fetch. */
  registerPrebuilt(url: string, processor: WorkerProcessor): () => void
  registerHealthCheck(name: string, check: WorkerHealthCheck): () => void

  /**
   * Wraps every attempt of every worker in this process, of isolated processors as well; the feature `plugins: false` leaves a worker
   * out. The outermost is the one of the first plugin in the order of the plugins, then the one that was added first. Returns what
   * removes it; attempts that run keep it.
   *
   * @example
   * const open = new Set<string>()
   * const remove = ctx.services.workers.useJobMiddleware(
   *   async ({ worker, delay }, next) => (open.has(worker) ? delay(30_000) : next()),
   *   { plugin: 'my-breaker' },
   * )
   */
  useJobMiddleware(middleware: JobMiddleware, options: JobMiddlewareOptions): () => void

  readonly local: LocalWorkers
  /** Hears what happens to workers, in all processes. Returns what ends it. */
  events(listener: (event: WorkerEvent) => void): () => void
  /**
   * Called by the plugin that brings a feature when it starts: workers may have the feature, and the plugin's part in their records,
   * from then on. Returns what takes it back. Throws WORKER_FEATURE_INVALID: the feature, or the plugin's part, has an owner already.
   *
   * @example
   * const pacing = defineWorkerFeature({ plugin: 'pace', feature: 'pacing' })
   * ctx.onStart(() => ctx.onStop(ctx.services.workers.offerFeature(pacing)))
   */
  offerFeature(feature: WorkerFeature): () => void
  /**
   * The same service for a plugin that acts by itself: `onWorkerChange` names the plugin as the actor. Without it, the actor is who
   * makes the request that the code runs for, and outside of requests the plugin `app`.
   *
   * @example
   * const workers = ctx.services.workers.as(ctx.plugin.name)
   * await workers.pause('email-sender')
   */
  as(plugin: string): Workers
}

export const workersService = defineService<Workers>('workers')
