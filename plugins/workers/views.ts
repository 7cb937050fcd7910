import type { NodeView, RolloutView, WorkerMetrics, WorkerOnNode, WorkerStatus, WorkerView } from './contract.js'
import { stateOf, statusesOf, versionOf } from './control/state.js'
import type { Applied } from './control/writes.js'
import type { HealthReport } from './health/score.js'
import { actingConcurrency } from './record/scaled.js'
import type { AttemptCounts, KnownNode, ReportedStatus } from './shared/contract.js'
import type { StoredWorker } from './store/contract.js'

/** @param inactiveFeatures features of the record that are inactive in this app. */
export function workerView(worker: StoredWorker, reported: readonly ReportedStatus[], inactiveFeatures: readonly string[]): WorkerView {
  const { desired, record } = worker
  const state = stateOf(worker, reported)
  const version = versionOf(worker, reported)
  const active = worker.versions.find((one) => one.version === version)
  const placed = statusesOf(worker, reported).filter((status) => status.alive && status.placed)
  const error = statusesOf(worker, reported).find((status) => status.alive && status.error !== undefined)?.error
  return {
    ...record,
    version,
    desiredVersion: desired.version,
    processor: active?.processor ?? null,
    healthCheck: active?.healthCheck ?? null,
    state,
    status: state === 'running' ? 'active' : 'inactive',
    desired: desired.state,
    ...(desired.stopped && { stopped: { by: desired.stopped.by, at: new Date(desired.stopped.at).toISOString() } }),
    paused: desired.paused,
    monitored: desired.monitored ?? record.features.healthMonitoring ?? false,
    generation: worker.generation,
    observedGeneration: placed.length === 0 ? 0 : Math.min(...placed.map((status) => status.generation)),
    ...(error === undefined ? {} : { lastError: error.message }),
    ...failedOn(worker, reported),
    ...(inactiveFeatures.length === 0 ? {} : { inactiveFeatures }),
    ...rolloutView(worker, reported),
    createdAt: new Date(worker.createdAt).toISOString(),
    updatedAt: new Date(worker.updatedAt).toISOString(),
  }
}

/** The field `failedOn` of a view; empty when it runs on no node or has failed on none. */
function failedOn(worker: StoredWorker, reported: readonly ReportedStatus[]): { readonly failedOn?: readonly string[] } {
  if (stateOf(worker, reported) === 'FAILED') return {}
  const nodes = statusesOf(worker, reported).flatMap(({ alive, node, state }) => (alive && state === 'FAILED' ? [node] : []))
  return nodes.length === 0 ? {} : { failedOn: nodes }
}

export interface StatusFacts {
  readonly statuses: readonly ReportedStatus[]
  readonly attempts: AttemptCounts | undefined
  readonly queuePaused: boolean | null
  readonly health: HealthReport
}

export function workerStatus(worker: StoredWorker, { statuses, attempts, queuePaused, health }: StatusFacts): WorkerStatus {
  const { name, queueName, scaled } = worker.record
  return {
    name,
    state: stateOf(worker, statuses),
    version: versionOf(worker, statuses),
    desiredVersion: worker.desired.version,
    health: health.score,
    queue: queueName,
    queuePaused,
    concurrency: actingConcurrency(worker.record),
    ...(scaled === undefined ? {} : { scaled }),
    ...rolloutView(worker, statuses),
    metrics: metricsOf(attempts),
  }
}

/** The field `rollout` of a view; empty when there is no rollout. */
export function rolloutView(worker: StoredWorker, reported: readonly ReportedStatus[]): { readonly rollout?: RolloutView } {
  const { version } = worker.desired
  const { halted } = worker
  const running = statusesOf(worker, reported).filter((status) => status.alive && status.version !== null)
  const taken = running.filter((status) => status.version === version).length
  const seen = { version, taken, of: running.length }
  if (halted !== undefined) {
    const { node, code, message: error, at } = halted
    return { rollout: { ...seen, state: 'halted', node, code, error, at: new Date(at).toISOString() } }
  }
  return taken === running.length ? {} : { rollout: { ...seen, state: 'rolling' } }
}

export function metricsOf(counts: AttemptCounts | undefined): WorkerMetrics {
  const { completed = 0, failed = 0, totalMs = 0 } = counts ?? {}
  const attempts = completed + failed
  return {
    completed,
    failed,
    successRate: attempts === 0 ? 1 : Math.round((completed / attempts) * 10_000) / 10_000,
    avgDuration: attempts === 0 ? 0 : Math.round((totalMs / attempts) * 100) / 100,
  }
}

/** The status of a worker on each node. */
export function nodesOf(worker: StoredWorker, reported: readonly ReportedStatus[]): readonly WorkerOnNode[] {
  return statusesOf(worker, reported).map(onNode)
}

function onNode(status: ReportedStatus): WorkerOnNode {
  const { node, alive, state, generation, placed, version, awaits, candidates, draining, concurrency, busy, error, at } = status
  return {
    node,
    state: alive ? state : 'unknown',
    observedGeneration: generation,
    placed,
    version,
    ...(awaits === undefined ? {} : { awaits }),
    draining,
    ...(candidates === undefined
      ? {}
      : { candidates: candidates.map(({ error: why, ...one }) => (why === undefined ? one : { ...one, error: why.message })) }),
    concurrency,
    busy,
    ...(error === undefined ? {} : { error: error.message }),
    at: new Date(at).toISOString(),
  }
}

/** @param busy running jobs by node. */
export function nodeView({ startedAt, leaseUntil, ...node }: KnownNode, busy: ReadonlyMap<string, number>): NodeView {
  return {
    ...node,
    // Its jobs are taken over.
    ...(node.alive ? {} : { draining: false }),
    busy: node.alive ? (busy.get(node.id) ?? 0) : 0,
    startedAt: new Date(startedAt).toISOString(),
    leaseUntil: new Date(leaseUntil).toISOString(),
  }
}

/** The message for an operation. `done`: when every node has applied it; `idle`: when there was nothing to do. */
export function resultMessage(
  { changed, operation }: Applied,
  worker: WorkerView,
  done: (worker: WorkerView) => string,
  idle: string,
): string {
  const { applied, failed, state, targets } = operation
  const { lastError, rollout } = worker
  if (!changed) return idle
  if (state === 'applied') {
    if (rollout?.state !== 'halted') return done(worker)
    return `${done(worker)}; the rollout of version ${rollout.version} is halted at ${rollout.node}: ${rollout.error}`
  }
  if (targets.length === 0) return 'Accepted; no live node can run it (role, placement); the next eligible node applies it'
  const waits = `still in progress${lastError === undefined ? '' : `: ${lastError}`}`
  const rest = failed.length > 0 ? `${failed.length} could not: ${failed[0]?.message}` : waits
  return `Accepted; applied by ${applied.length} of ${targets.length} nodes; ${rest}`
}
