import type { WorkerNode } from './node/worker-node.js'
import type { StoredWorker } from './store/store.js'
import type { ListOptions, WorkerPage, WorkerState, WorkerStatus, WorkerView } from './types.js'

/** What a worker does, as far as this process can tell. */
function stateOf(worker: StoredWorker, node: WorkerNode | undefined): WorkerState {
  if (node === undefined) return worker.desired.state === 'running' ? 'unknown' : 'stopped'
  const seen = node.observe(worker.record.name)
  return seen?.id === worker.id ? seen.state : 'stopped'
}

export function workerView(worker: StoredWorker, node: WorkerNode | undefined): WorkerView {
  const state = stateOf(worker, node)
  const error = node?.observe(worker.record.name)?.error
  return {
    ...worker.record,
    state,
    status: state === 'running' ? 'active' : 'inactive',
    desired: worker.desired.state,
    generation: worker.generation,
    ...(error === undefined ? {} : { lastError: error.message }),
    createdAt: new Date(worker.createdAt).toISOString(),
    updatedAt: new Date(worker.updatedAt).toISOString(),
  }
}

export function workerStatus(worker: StoredWorker, node: WorkerNode | undefined): WorkerStatus {
  const { name, version, queueName, concurrency } = worker.record
  const state = stateOf(worker, node)
  const metrics = node?.metrics(name) ?? { completed: 0, failed: 0, successRate: 1, avgDuration: 0 }
  return {
    name,
    state,
    version,
    health: state === 'FAILED' ? 0 : Math.round(100 * metrics.successRate),
    queue: queueName,
    concurrency,
    metrics,
  }
}

/** One page of the workers that the options let through. A page behind the last one is empty. */
export function workerPage(workers: readonly StoredWorker[], node: WorkerNode | undefined, options: ListOptions): WorkerPage {
  const { page = 1, limit = 100, status, includeInactive = false } = options
  const views = workers
    .filter((worker) => includeInactive || worker.record.activeStatus)
    .map((worker) => workerView(worker, node))
    .filter((view) => status === undefined || view.status === status)
  const total = views.length
  return {
    workers: views.slice((page - 1) * limit, page * limit),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
  }
}
