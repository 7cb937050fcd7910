import { type Clock, defineService } from 'zin'
import type { Cluster } from './cluster/cluster.js'
import { reportedOn } from './cluster/reported.js'
import type { Applied, Control } from './control/control.js'
import type { Operations } from './control/operations.js'
import type { Versions } from './control/versions.js'
import { refuse, workerErrors } from './errors.js'
import type { Health } from './health/health.js'
import type { WorkerJobs } from './jobs/jobs.js'
import { KnownRecords } from './jobs/known-records.js'
import type { WorkerNode } from './node/worker-node.js'
import type { ProcessorRegistry } from './processors/registry.js'
import { isIntIn, problem } from './record/problem.js'
import type { StoreDirectory } from './store/directory.js'
import type { StoredWorker } from './store/store.js'
import type { ListOptions, LocalWorkers, OperationResult, WorkerEvent, WorkerPage, Workers, WorkerView } from './types.js'
import { metricsOf, nodesOf, nodeView, resultMessage, workerStatus, workerView } from './views.js'

export const workersService = defineService<Workers>('workers')

const operationId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export interface ServiceParts {
  readonly enabled: boolean
  /** Names this process among all of the app. */
  readonly id: string
  readonly cluster: Cluster
  readonly clock: Clock
  readonly control: Control
  readonly directory: StoreDirectory
  readonly health: Health
  readonly jobs: WorkerJobs
  readonly node: WorkerNode | undefined
  readonly operations: Operations
  readonly registry: ProcessorRegistry
  readonly versions: Versions
  readonly lead: Workers['lead']
  readonly offerFeature: Workers['offerFeature']
  readonly listen: (listener: (event: WorkerEvent) => void) => () => void
}

/** In a process that runs no workers. */
function nothingLocal(node: string): LocalWorkers {
  return {
    node,
    list: () => [],
    fail: (name) => Promise.reject(workerErrors.WORKER_NOT_FOUND(name)),
    reportCheck: () => undefined,
  }
}

/** The service that routes, commands and other plugins use. */
export function makeWorkers(parts: ServiceParts): Workers {
  const { cluster, control, directory, health, jobs, node, operations, registry, versions } = parts
  const record = async (name: string) => (await control.find(name)).worker.record
  const known = new KnownRecords(parts.clock, record)
  /** Attempts of all processes; of this one to the last. */
  const counts = async (name: string) => {
    await node?.flush()
    return (await cluster.totals([name])).get(name)
  }
  const view = async (worker: StoredWorker) => workerView(worker, await reportedOn(cluster, worker.record.name))
  const resultOf = async (applied: Applied, say: (worker: WorkerView) => string, idle = ''): Promise<OperationResult> => {
    const { id, record } = applied.worker
    // A process that refused a version meanwhile has written that.
    const now = (await directory.find(record.name))?.worker
    const worker = await view(now?.id === id ? now : applied.worker)
    return { message: resultMessage(applied, worker, say, idle), worker, operation: applied.operation }
  }
  const isNow = ({ name, state }: WorkerView): string => `Worker "${name}" is ${state}`

  return {
    enabled: parts.enabled,
    create: async (worker, { places = 'any', ...options } = {}) => view(await control.create(worker, places === 'any', options)),
    update: async (name, changes, options) => resultOf(await control.update(name, changes, options), () => `Worker "${name}" is updated`),
    start: async (name, options) => resultOf(await control.start(name, options), isNow, `Worker "${name}" was running already`),
    stop: async (name, options) => resultOf(await control.stop(name, options), isNow),
    restart: async (name, options) =>
      resultOf(
        await control.restart(name, options),
        ({ state }) => `Worker "${name}" was restarted${state === 'running' ? '' : ` and is ${state}`}`,
      ),
    pause: async (name, options) => resultOf(await control.pause(name, options), isNow),
    resume: async (name, options) => resultOf(await control.resume(name, options), isNow),
    monitor: async (name, on, options) =>
      resultOf(await control.monitor(name, on, options), () => `Worker "${name}" is ${on ? 'monitored' : 'no longer monitored'}`),
    remove: (name, options) => control.remove(name, options),
    get: async (name) => view((await control.find(name)).worker),
    async list(options = {}) {
      checkList(options)
      return listPage(cluster, directory, options)
    },
    async status(name) {
      const { worker } = await control.find(name)
      const [statuses, attempts, queuePaused] = await Promise.all([
        reportedOn(cluster, name),
        counts(name),
        jobs.isPaused(worker.record).catch(() => null),
      ])
      return workerStatus(worker, { statuses, attempts, queuePaused, health: await health.of(worker, statuses) })
    },
    async metrics(name) {
      const { worker } = await control.find(name)
      const [attempts, queued] = await Promise.all([counts(name), jobs.counts(worker.record)])
      return { ...metricsOf(attempts), counts: queued }
    },
    async health(name) {
      const { worker } = await control.find(name)
      const [statuses] = await Promise.all([reportedOn(cluster, name), node?.flush()])
      return health.of(worker, statuses)
    },
    async operation(name, id) {
      await control.find(name)
      // Stores compare other texts in ways of their own.
      const operation = operationId.test(id) ? await operations.find(id) : undefined
      if (operation?.worker !== name) throw workerErrors.OPERATION_NOT_FOUND(name)
      return operations.read(operation)
    },
    nodesOf: async (name) => nodesOf((await control.find(name)).worker, await reportedOn(cluster, name)),
    nodes: async () => (await cluster.nodes()).map(nodeView),

    registerVersion: (name, version) => versions.register(name, version),
    versions: (name) => versions.list(name),
    activate: async (name, version, options) =>
      resultOf(await versions.activate(name, version, options), ({ state }) =>
        state === 'running'
          ? `Worker "${name}" runs version ${version}`
          : `Version ${version} of worker "${name}" is activated; the worker is ${state}`,
      ),

    enqueue: async (name, data, options = {}) => jobs.add(await known.of(name), data, options),
    enqueueFlow: (flow) => jobs.addFlow((name) => known.of(name), flow),
    job: async (name, id) => jobs.read(await record(name), id),
    cancelJob: async (name, id, reason = 'by an operator') => jobs.cancel(await record(name), id, reason),
    async schedule(name, id, spec) {
      const { worker } = await control.find(name)
      const view = await jobs.schedule(worker.record, id, spec)
      const now = await directory.find(name)
      if (now?.worker.id === worker.id && now.worker.record.queueName === worker.record.queueName) return view
      // The worker does not take its jobs any more.
      await jobs.dropSchedule(worker.record, id)
      throw now === undefined ? workerErrors.WORKER_NOT_FOUND(name) : workerErrors.WORKER_CHANGED(name)
    },
    schedules: async (name) => jobs.schedules(await record(name)),
    unschedule: async (name, id) => jobs.unschedule(await record(name), id),

    register: (name, processor) => registry.register(name, processor),
    registerAll: (processors) => all(Object.entries(processors).map(([name, processor]) => registry.register(name, processor))),
    registerPaths: (paths) => all(Object.entries(paths).map(([name, path]) => registry.registerPath(name, path))),
    registerResolver: (resolver) => registry.registerResolver(resolver),
    registerPrebuilt: (url, processor) => registry.registerPrebuilt(url, processor),
    registerHealthCheck: (name, check) => registry.registerHealthCheck(name, check),

    local: node?.local ?? nothingLocal(parts.id),
    events: parts.listen,
    lead: parts.lead,
    offerFeature: parts.offerFeature,
  }
}

/** One page of records and one round trip for what the processes say of them. */
async function listPage(cluster: Cluster, directory: StoreDirectory, options: ListOptions): Promise<WorkerPage> {
  const { page = 1, limit = 100, status, includeInactive = false } = options
  const running = status === undefined ? undefined : await cluster.running()
  const { workers, total } = await directory.page({
    offset: (page - 1) * limit,
    limit,
    inactive: includeInactive,
    ...(running !== undefined && { [status === 'active' ? 'only' : 'without']: running }),
  })
  const reported = await cluster.statuses(workers.map((worker) => worker.record.name))
  return {
    workers: workers.map((worker) => workerView(worker, reported.get(worker.record.name) ?? [])),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
  }
}

function all(disposers: readonly (() => void)[]): () => void {
  return () => disposers.forEach((dispose) => void dispose())
}

function checkList({ page = 1, limit = 100 }: ListOptions): void {
  if (!isIntIn(page, 1, Number.MAX_SAFE_INTEGER)) refuse([problem('page', 'INVALID_PAGE', '"page" must be a whole number from 1')])
  if (!isIntIn(limit, 1, 100)) refuse([problem('limit', 'INVALID_LIMIT', '"limit" must be a whole number from 1 to 100')])
}
