import { defineService } from 'zin'
import type { CheckReport, WorkerHealthCheck } from './health/check.js'
import type { HealthReport } from './health/score.js'
import type {
  CancelOutcome,
  Enqueued,
  EnqueuedFlow,
  EnqueueOptions,
  FlowSpec,
  JobCounts,
  ScheduleSpec,
  ScheduleView,
  WorkerJob,
} from './jobs/types.js'
import type { JobMiddleware, JobMiddlewareOptions } from './node/job-middleware.js'
import type { VersionRoute } from './node/version-routes.js'
import type { ProcessorResolver, WorkerProcessor } from './processors/processor.js'
import type { WorkerFeature } from './record/define-feature.js'
import type { CreateWorker, RegisterVersion, UpdateWorker, VersionRefusal, WorkerRecord } from './record/record.js'
import type { WorkerCounts, WorkerState } from './shared/contract.js'
import type {
  NodeView,
  Operation,
  OperationResult,
  VersionView,
  WorkerEvent,
  WorkerMetrics,
  WorkerOnNode,
  WorkerStatus,
  WorkerView,
} from './worker-views.js'

export type * from './worker-views.js'

export interface OperationOptions {
  /** How long to wait until every node has applied the change, in ms. Default 10000. */
  readonly waitMs?: number
}

export interface ScaleOptions extends OperationOptions {
  /** Human-readable reason, at most 500 characters. Default empty. */
  readonly reason?: string
}

export interface ActivateOptions extends OperationOptions {
  /** Whether to activate a version that a plugin refused. Default false. */
  readonly force?: boolean
}

export interface CreateOptions extends OperationOptions {
  /** `configured`: the record may name only stores that the app has configured; for untrusted input. Default `any`, for code. */
  readonly places?: 'any' | 'configured'
  /**
   * With `configured`: called before the record is stored in a place that the app does not use yet; throw if that may not be. `creates`: a
   * table or key prefix may have to be created there. Default: such places are refused.
   */
  readonly mayOpen?: (creates: boolean) => void | Promise<void>
}

/** A worker that runs on this node, for plugins that monitor it. */
export interface LocalWorker {
  readonly name: string
  readonly version: string
  readonly state: WorkerState
  /** Attempts that its route sent to a version that is not loaded here. */
  readonly routeFallbacks: number
  /** Whether its health checks should run. */
  readonly monitored: boolean
  readonly features: WorkerRecord['features']
  /** The active version's own check. */
  readonly healthCheck: WorkerHealthCheck | undefined
}

/** The workers of this node. */
export interface LocalWorkers {
  /** Id of this node, as in `nodes`. */
  readonly node: string
  list(): readonly LocalWorker[]
  /** Sets a running worker to FAILED on this node: it takes no more jobs until it is restarted. */
  fail(name: string, error: Error): Promise<void>
  /** Records the outcome of a health check, visible on all nodes. */
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
 * Background workers: records with a desired state, and the nodes that reconcile it.
 * Every rejection is a ZinError with a code and an HTTP status.
 */
export interface Workers {
  /** False with `WORKERS_ENABLED=false`: there are no routes and no commands, and nothing consumes jobs. */
  readonly enabled: boolean
  /** Stores a new worker, and starts it if the auto-start rule allows it. 409 WORKER_EXISTS. */
  create(worker: CreateWorker, options?: CreateOptions): Promise<WorkerView>
  /**
   * Declares a worker in code, in `setup`: when the app is ready, the worker is created if it is absent, and the fields that differ from the
   * declaration are changed. Fields that it does not name, the scaled concurrency, and whether the worker runs are up to operators. A
   * processor or health check that no stored version has becomes a new version, which is activated: `version`, or else the next patch. Commands
   * apply nothing. Returns a function that withdraws the declaration, and leaves the worker. 409 WORKER_DECLARED.
   *
   * @example
   * ctx.services.workers.as(ctx.plugin.name).declare({
   *   name: 'receipts',
   *   queueName: 'receipts',
   *   processor: async (job) => ({ sentTo: job.data.email }),
   *   autoStart: true,
   * })
   */
  declare(worker: CreateWorker): () => void
  /** Changes fields of the record; nodes apply them without a restart where possible. 409 WORKER_HAS_SCHEDULES: the queue cannot change. */
  update(name: string, changes: UpdateWorker, options?: OperationOptions): Promise<OperationResult>
  /** Starting a running worker succeeds and changes nothing. 410 WORKER_INACTIVE. */
  start(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Lets running jobs end within `WORKER_TIMEOUT`, then cancels them. The worker stays stopped after a reboot. */
  stop(name: string, options?: OperationOptions): Promise<OperationResult>
  /** Stops and starts the worker; a stopped or FAILED one is started. */
  restart(name: string, options?: OperationOptions): Promise<OperationResult>
  /** The worker takes no more jobs and stays loaded; running jobs continue. */
  pause(name: string, options?: OperationOptions): Promise<OperationResult>
  /** The paused worker takes jobs again. */
  resume(name: string, options?: OperationOptions): Promise<OperationResult>
  /**
   * Sets the number of parallel jobs on each node without changing the configured `concurrency`, which null restores. Running jobs
   * continue, and nothing restarts. The scaled number survives reboots and changes of the configured one.
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
  /** Stops and removes a worker and its schedules. Its queue and jobs stay. */
  remove(name: string, options?: OperationOptions): Promise<void>
  get(name: string): Promise<WorkerView>
  list(options?: ListOptions): Promise<WorkerPage>
  status(name: string): Promise<WorkerStatus>
  metrics(name: string): Promise<WorkerMetrics & { readonly counts: JobCounts }>
  /**
   * Returns the attempts of many workers over all nodes since `since`, with their run times, in one round trip: totals, or by version and
   * by minute. A worker that has no attempts, has `features.metrics` false, or does not exist has no entry. Entries are in the order of
   * `names`, then by minute, then by version. 400 INVALID_COUNTS_QUERY.
   *
   * @param names at most 1,000, and names times minutes at most 100,000: all 1,000 over 100 minutes, or 69 over 24 h.
   * @example
   * const lastTenMinutes = { since: Date.now() - 600_000, byVersion: true }
   * for (const { version, completed, failed, durations } of await workers.counts(['email-sender'], lastTenMinutes)) {
   *   console.log(version, failed / (completed + failed), percentile(durations, 0.95))
   * }
   */
  counts(names: readonly string[], options?: CountsOptions): Promise<readonly WorkerCounts[]>
  /** The health score with its terms, and the last checks of every node. */
  health(name: string): Promise<HealthReport>
  /** An operation of the last 24 h, and its progress. 404 OPERATION_NOT_FOUND. */
  operation(name: string, id: string): Promise<Operation>
  /** The status of a worker on each node. */
  nodesOf(name: string): Promise<readonly WorkerOnNode[]>
  /** The nodes of the app, including recently lost ones. */
  nodes(): Promise<readonly NodeView[]>
  /**
   * Lets a node finish its running jobs and take no new ones, or take jobs again. Its workers without clustering continue on another node once
   * they have stopped. It drains until that is undone or its process ends. 404 NODE_NOT_FOUND, 503 NODE_NOT_ANSWERING.
   *
   * @param node an id that `nodes` lists.
   */
  drain(node: string, draining: boolean): Promise<NodeView>

  /** Registers a version without activating it. 409 VERSION_EXISTS. */
  registerVersion(name: string, version: RegisterVersion): Promise<VersionView>
  versions(name: string): Promise<readonly VersionView[]>
  /** Rolls a version out: one node after another gives it new jobs, and a node on which it is not healthy keeps the previous version. */
  activate(name: string, version: string, options?: ActivateOptions): Promise<OperationResult>
  /**
   * Stores durably that a version must not run, with the evidence. Activating it is then rejected (409 VERSION_REFUSED) unless forced,
   * which removes the refusal. The active version does not change. 404 VERSION_NOT_FOUND, 400 INVALID_REFUSAL.
   *
   * @example
   * const { workers } = ctx.services
   * await workers.as('soak-test').refuseVersion('emails', '2.0.0', { reason: 'memory grew by 40 % in an hour', evidence: { hours: 1 } })
   */
  refuseVersion(name: string, version: string, refusal: VersionRefusal): Promise<VersionView>

  /**
   * Loads up to 5 healthy versions next to the active one on every node that runs the worker, for the jobs that {@link routeVersions}
   * gives them. The list replaces the previous candidates; an empty one removes them. Activating a candidate makes it the active version.
   * `nodesOf` shows the candidates of each node. Throws 404 VERSION_NOT_FOUND, and the error of a node when no node could load one.
   */
  setCandidates(name: string, versions: readonly string[], options?: OperationOptions): Promise<OperationResult>
  /**
   * Chooses on this node which version runs each job of a worker. A version that is neither active nor a loaded candidate falls back
   * to the active one, which is logged once and counted in `local`. One route for each worker: 409 VERSIONS_ROUTED. Returns a function
   * that removes it.
   *
   * @example
   * await workers.setCandidates('emails', ['2.0.0'])
   * const remove = workers.routeVersions('emails', (job) => (Number(job.id) % 20 === 0 ? '2.0.0' : undefined))
   */
  routeVersions(name: string, route: VersionRoute): () => void

  /** Adds a job to the worker's queue, whether the worker runs or not. `data` must be JSON. */
  enqueue(name: string, data: unknown, options?: EnqueueOptions): Promise<Enqueued>
  /** Adds a tree of jobs atomically; a job runs when its children are done. */
  enqueueFlow(flow: FlowSpec): Promise<EnqueuedFlow>
  job(name: string, id: string): Promise<WorkerJob>
  /** Removes a waiting job, or aborts the signal of a running one wherever it runs. */
  cancelJob(name: string, id: string, reason?: string): Promise<CancelOutcome>
  /** Adds or replaces a recurring job. `id` is unique within the worker: 1–100 of letters, digits, `_`, `.` and `-`. */
  schedule(name: string, id: string, spec: ScheduleSpec): Promise<ScheduleView>
  schedules(name: string): Promise<readonly ScheduleView[]>
  /** 404 SCHEDULE_NOT_FOUND. */
  unschedule(name: string, id: string): Promise<void>

  /**
   * Registers the processor of the worker `name`, or of one version as `name@1.2.3`; a later call replaces it. A function that the worker was
   * created, updated or versioned with takes precedence. Returns a function that removes it.
   */
  register(name: string, processor: WorkerProcessor): () => void
  registerAll(processors: Readonly<Record<string, WorkerProcessor>>): () => void
  /** Worker name → file path, loaded when the worker starts. */
  registerPaths(paths: Readonly<Record<string, string>>): () => void
  /** Called for names without a registered processor. */
  registerResolver(resolver: ProcessorResolver): () => void
  /** Registers the code of a URL, compiled in: a record whose processor is exactly this text runs it without a fetch. */
  registerPrebuilt(url: string, processor: WorkerProcessor): () => void
  registerHealthCheck(name: string, check: WorkerHealthCheck): () => void

  /**
   * Wraps every attempt of every worker on this node, including those of isolated processors; the feature `plugins: false` excludes a
   * worker. Middlewares nest in the boot order of their plugins, the first one outermost, then in the order in which they were added.
   * Returns a function that removes the middleware; running attempts keep it.
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
  /** Subscribes to events of workers on all nodes. An error that the listener throws is logged. Returns a function that unsubscribes. */
  events(listener: (event: WorkerEvent) => void): () => void
  /**
   * Called by the plugin that provides a feature when it starts: from then on, workers may have the feature, and the plugin's data in
   * their records. Returns a function that withdraws it. Throws WORKER_FEATURE_INVALID when the feature, or the plugin's part of the
   * record, already has an owner.
   *
   * @example
   * const pacing = defineWorkerFeature({ plugin: 'pace', feature: 'pacing' })
   * ctx.onStart(() => ctx.onStop(ctx.services.workers.offerFeature(pacing)))
   */
  offerFeature(feature: WorkerFeature): () => void
  /**
   * The same service for a plugin that acts on its own: `onWorkerChange` names the plugin as the actor. Without it, the actor is the
   * caller of the current request, and outside of requests the plugin `app`.
   *
   * @example
   * const workers = ctx.services.workers.as(ctx.plugin.name)
   * await workers.pause('email-sender')
   */
  as(plugin: string): Workers
}

export const workersService = defineService<Workers>('workers')
