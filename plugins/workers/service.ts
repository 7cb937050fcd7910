import { AsyncResource } from 'node:async_hooks'
import { type Clock, withDeadline } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { ListOptions, LocalWorkers, OperationResult, WorkerEvent, WorkerPage, Workers, WorkerView } from './contract.js'
import { type Changes, theApp } from './control/changes.js'
import type { Declarations } from './control/declarations.js'
import type { DesiredStates } from './control/desired-states.js'
import type { Drains } from './control/drains.js'
import { type Act, jobActions } from './control/job-actions.js'
import type { Operations } from './control/operations.js'
import type { Versions } from './control/versions.js'
import type { WorkerRecords } from './control/worker-records.js'
import type { Applied, WorkerWrites } from './control/writes.js'
import { refuse, workerErrors } from './errors.js'
import type { Health } from './health/health.js'
import type { WorkerJobs } from './jobs/jobs.js'
import { KnownRecords } from './jobs/known-records.js'
import type { JobMiddlewares } from './node/job-middleware.js'
import type { VersionRoutes } from './node/version-routes.js'
import type { WorkerNode } from './node/worker-node.js'
import type { ProcessorRegistry } from './processors/registry.js'
import { countsQuery } from './record/counts-query.js'
import { isIntIn, problem } from './record/problem.js'
import type { WorkerRecord } from './record/record.js'
import type { WorkerFeatures } from './record/worker-features.js'
import type { AttemptCounts, ReportedStatus } from './shared/contract.js'
import type { SharedState } from './shared/state.js'
import { countsOf, sum, tallyOf } from './shared/tally.js'
import type { StoredWorker } from './store/contract.js'
import type { StoreRegistry } from './store/registry.js'
import { metricsOf, nodesOf, nodeView, resultMessage, workerStatus, workerView } from './views.js'

/** How long to wait for this node to store its own counts, in ms; the read that follows has a separate deadline. */
const flushMs = 500

/** Maximum number of workers to read one by one. */
const mostReadSingly = 20

const operationId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export interface ServiceParts {
  readonly enabled: boolean
  /** Id of this node. */
  readonly id: string
  readonly shared: SharedState
  readonly clock: Clock
  readonly changes: Changes
  readonly declarations: Declarations
  readonly desired: DesiredStates
  readonly drains: Drains
  readonly storeRegistry: StoreRegistry
  readonly features: WorkerFeatures
  readonly health: Health
  readonly jobs: WorkerJobs
  readonly node: WorkerNode | undefined
  readonly operations: Operations
  readonly records: WorkerRecords
  readonly registry: ProcessorRegistry
  readonly versions: Versions
  readonly writes: WorkerWrites
  readonly middlewares: JobMiddlewares
  readonly routes: VersionRoutes
  /** The id of a worker by its name, as this node last read it. */
  readonly knownId: (name: string) => string | undefined
  readonly listen: (listener: (event: WorkerEvent) => void) => () => void
  /** The record of a worker that messages keep up to date; undefined if it is unknown, or may be outdated. */
  readonly kept: (name: string) => WorkerRecord | undefined
}

/** The local workers of a node that runs none. */
function nothingLocal(node: string): LocalWorkers {
  return {
    node,
    list: () => [],
    fail: (name) => Promise.reject(workerErrors.WORKER_NOT_FOUND(name)),
    reportCheck: () => undefined,
  }
}

/** Creates the service that routes, commands and other plugins use. */
export function makeWorkers(parts: ServiceParts): Workers {
  const { clock, writes } = parts
  return boundTo(undefined, parts, new KnownRecords(clock, async (name) => (await writes.find(name)).worker.record, parts.kept))
}

/** @param actor who makes the changes; undefined: the caller of the current request, else the app. */
function boundTo(actor: Actor | undefined, parts: ServiceParts, known: KnownRecords): Workers {
  const {
    changes,
    clock,
    shared,
    desired,
    drains,
    storeRegistry,
    features,
    health,
    jobs,
    node,
    operations,
    records,
    registry,
    versions,
    writes,
  } = parts
  /** Runs a management action with its hooks. */
  const act: Act = (action, worker, work, target) => changes.run({ action, worker, target, actor }, work)
  const record = async (name: string) => (await writes.find(name)).worker.record
  const flushed = () => withDeadline(node?.flush(), flushMs, '').catch(() => undefined)
  const totals = async ({ id, record: { name } }: StoredWorker) => {
    const found = await shared.totals([id, name])
    // Older releases counted by name.
    const [now, before] = [found.get(id), found.get(name)]
    return now === undefined || before === undefined ? (now ?? before) : sumOf(now, before)
  }
  /** Returns the ids of workers by name. */
  const idsOf = async (names: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const unknown = names.filter((name) => parts.knownId(name) === undefined)
    const read =
      unknown.length > mostReadSingly
        ? await storeRegistry.all()
        : (await Promise.all(unknown.map((name) => storeRegistry.find(name)))).flatMap((found) => found?.worker ?? [])
    const ids = new Map(read.map(({ id, record: { name } }) => [name, id]))
    return new Map(names.flatMap((name) => [[name, parts.knownId(name) ?? ids.get(name)] as const]).filter(isPresent))
  }
  const view = async (worker: StoredWorker) => viewOf(worker, await shared.statusesOf(worker.record.name))
  const viewOf = (worker: StoredWorker, reported: readonly ReportedStatus[]) =>
    workerView(worker, reported, features.inactive(worker.record.features))
  const resultOf = async (applied: Applied, say: (worker: WorkerView) => string, idle = ''): Promise<OperationResult> => {
    const { id, record } = applied.worker
    // A node may have stored a refusal of the version in the meantime.
    const now = (await storeRegistry.find(record.name))?.worker
    const worker = await view(now?.id === id ? now : applied.worker)
    return { message: resultMessage(applied, worker, say, idle), worker, operation: applied.operation }
  }
  const isNow = ({ name, state }: WorkerView): string => `Worker "${name}" is ${state}`

  return {
    enabled: parts.enabled,
    create: async (worker, options) => view(await act('create', worker?.name, (step) => records.create(worker, step, options))),
    declare: (worker) => parts.declarations.add(worker, actor ?? theApp),
    update: async (name, changes, options) =>
      resultOf(await act('update', name, (step) => records.update(name, changes, step, options)), () => `Worker "${name}" is updated`),
    start: async (name, options) =>
      resultOf(await act('start', name, (step) => desired.start(name, step, options)), isNow, `Worker "${name}" is already running`),
    stop: async (name, options) => resultOf(await act('stop', name, (step) => desired.stop(name, step, options)), isNow),
    restart: async (name, options) =>
      resultOf(
        await act('restart', name, (step) => desired.restart(name, step, options)),
        ({ state }) => `Worker "${name}" was restarted${state === 'running' ? '' : ` and is ${state}`}`,
      ),
    pause: async (name, options) => resultOf(await act('pause', name, (step) => desired.pause(name, step, options)), isNow),
    resume: async (name, options) => resultOf(await act('resume', name, (step) => desired.resume(name, step, options)), isNow),
    scale: async (name, concurrency, options = {}) =>
      resultOf(await act('scale', name, (step) => desired.scale(name, concurrency, step, options)), ({ concurrency: own, scaled }) =>
        scaled === undefined
          ? `Worker "${name}" is not scaled: ${own} jobs at a time`
          : `Worker "${name}" is scaled to ${scaled.concurrency} jobs at a time`,
      ),
    monitor: async (name, on, options) =>
      resultOf(
        await act(on ? 'monitoring.start' : 'monitoring.stop', name, (step) => desired.monitor(name, on, step, options)),
        () => `Worker "${name}" is ${on ? 'monitored' : 'no longer monitored'}`,
      ),
    remove: (name, options) => act('remove', name, (step) => records.remove(name, step, options)),
    get: async (name) => view((await writes.find(name)).worker),
    async list(options = {}) {
      checkList(options)
      return listPage({ shared, storeRegistry, viewOf }, options)
    },
    async status(name) {
      const { worker } = await writes.find(name)
      await flushed()
      const statuses = shared.statusesOf(name)
      const [reported, attempts, queuePaused, report] = await Promise.all([
        statuses,
        totals(worker),
        jobs.isPaused(worker.record).catch(() => null),
        health.of(worker, statuses),
      ])
      return workerStatus(worker, { statuses: reported, attempts, queuePaused, health: report })
    },
    async metrics(name) {
      const { worker } = await writes.find(name)
      await flushed()
      const [attempts, queued] = await Promise.all([totals(worker), jobs.counts(worker.record)])
      return { ...metricsOf(attempts), counts: queued }
    },
    async counts(names, options = {}) {
      const query = countsQuery(names, options, clock.now())
      const [ids] = await Promise.all([idsOf([...new Set(names)]), flushed()])
      const nameOf = new Map([...ids].map(([name, id]) => [id, name]))
      const found = await shared.counts([...ids.values()], query)
      return found.map((one) => ({ ...one, worker: nameOf.get(one.worker) ?? one.worker }))
    },
    async health(name) {
      const { worker } = await writes.find(name)
      await flushed()
      return health.of(worker, shared.statusesOf(name))
    },
    async operation(name, id) {
      await writes.find(name)
      // Stores differ in how they compare other texts.
      const operation = operationId.test(id) ? await operations.find(id) : undefined
      if (operation?.worker !== name) throw workerErrors.OPERATION_NOT_FOUND(name)
      return operations.read(operation)
    },
    nodesOf: async (name) => nodesOf((await writes.find(name)).worker, await shared.statusesOf(name)),
    async nodes() {
      const known = await shared.nodes()
      // Read afterwards: a node stores this number before it says that it drains.
      const busy = await shared.busy()
      return known.map((one) => nodeView(one, busy))
    },
    drain: async (id, draining) => nodeView(await drains.set(id, draining), await shared.busy()),

    registerVersion: (name, version) => act('version.register', name, (step) => versions.register(name, version, step), version?.version),
    versions: (name) => versions.list(name),
    setCandidates: async (name, wanted, options) =>
      resultOf(await act('version.candidates', name, (step) => versions.setCandidates(name, wanted, step, options)), () =>
        wanted.length === 0 ? `Worker "${name}" has no candidates` : `Worker "${name}" has the candidates ${wanted.join(', ')}`,
      ),
    refuseVersion: (name, version, refusal) =>
      act('version.refuse', name, (step) => versions.refuse(name, version, actor?.id ?? 'app', refusal, step), version),
    activate: async (name, version, options) =>
      resultOf(await act('version.activate', name, (step) => versions.activate(name, version, step, options), version), ({ state }) =>
        state === 'running'
          ? `Worker "${name}" runs version ${version}`
          : `Version ${version} of worker "${name}" is activated; the worker is ${state}`,
      ),

    ...jobActions({ writes, storeRegistry, jobs, known }, act),
    job: async (name, id) => jobs.read(await record(name), id),
    schedules: async (name) => jobs.schedules(await record(name)),

    register: (name, processor) => registry.register(name, processor),
    registerAll: (processors) => all(Object.entries(processors).map(([name, processor]) => registry.register(name, processor))),
    registerPaths: (paths) => all(Object.entries(paths).map(([name, path]) => registry.registerPath(name, path))),
    registerResolver: (resolver) => registry.registerResolver(resolver),
    registerPrebuilt: (url, processor) => registry.registerPrebuilt(url, processor),
    registerHealthCheck: (name, check) => registry.registerHealthCheck(name, check),

    routeVersions: (name, route) => parts.routes.add(name, route),
    useJobMiddleware: (middleware, options) => parts.middlewares.add(middleware, options),

    local: node?.local ?? nothingLocal(parts.id),
    // A listener's own actions are not those of the caller whose request it observes.
    events: (listener) => parts.listen(AsyncResource.bind(listener)),
    offerFeature: (feature) => features.offer(feature),
    as: (plugin) => boundTo({ kind: 'plugin', id: plugin, via: 'plugin' }, parts, known),
  }
}

interface ListParts {
  readonly shared: SharedState
  readonly storeRegistry: StoreRegistry
  readonly viewOf: (worker: StoredWorker, reported: readonly ReportedStatus[]) => WorkerView
}

/** Reads one page of records, and their statuses in one round trip. */
async function listPage({ shared, storeRegistry, viewOf }: ListParts, options: ListOptions): Promise<WorkerPage> {
  const { page = 1, limit = 100, status, includeInactive = false } = options
  const running = status === undefined ? undefined : await shared.running()
  const { workers, total } = await storeRegistry.page({
    offset: (page - 1) * limit,
    limit,
    inactive: includeInactive,
    ...(running !== undefined && { [status === 'active' ? 'only' : 'without']: running }),
  })
  const reported = await shared.statuses(workers.map((worker) => worker.record.name))
  return {
    workers: workers.map((worker) => viewOf(worker, reported.get(worker.record.name) ?? [])),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
  }
}

function isPresent(entry: readonly [string, string | undefined]): entry is readonly [string, string] {
  return entry[1] !== undefined
}

function sumOf(a: AttemptCounts, b: AttemptCounts): AttemptCounts {
  return countsOf(sum(tallyOf(a), tallyOf(b)))
}

function all(disposers: readonly (() => void)[]): () => void {
  return () => disposers.forEach((dispose) => void dispose())
}

function checkList({ page = 1, limit = 100 }: ListOptions): void {
  if (!isIntIn(page, 1, Number.MAX_SAFE_INTEGER)) refuse([problem('page', 'INVALID_PAGE', '"page" must be an integer from 1')])
  if (!isIntIn(limit, 1, 100)) refuse([problem('limit', 'INVALID_LIMIT', '"limit" must be an integer from 1 to 100')])
}
