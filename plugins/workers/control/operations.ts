import { randomUUID } from 'node:crypto'
import { type Clock, ZinError } from 'zin'
import type { Cluster, KnownNode, OperationRecord, ReportedStatus } from '../cluster/cluster.js'
import { placementOf } from '../cluster/placement.js'
import { reportedOn } from '../cluster/reported.js'
import type { StoredWorker } from '../store/store.js'
import type { FailedTarget, Operation } from '../types.js'
import { statusesOf } from './state.js'

export type Action = 'create' | 'update' | 'start' | 'stop' | 'restart' | 'pause' | 'resume' | 'monitor' | 'activate'

/** How often a waiting caller looks by itself; messages wake it earlier. */
const lookMs = 250

/** Where one process stands with an operation. */
type Progress = 'waiting' | 'applied' | FailedTarget

/** Changes of desired states, and how far the processes have come with them. */
export class Operations {
  readonly #cluster: Cluster
  readonly #clock: Clock

  constructor(cluster: Cluster, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
  }

  /** Notes a change that was written, and tells every process of it. */
  async begin(worker: StoredWorker, action: Action): Promise<OperationRecord> {
    const name = worker.record.name
    const [nodes, reported] = await Promise.all([this.#cluster.nodes(), reportedOn(this.#cluster, name)])
    const operation: OperationRecord = {
      id: randomUUID(),
      worker: name,
      workerId: worker.id,
      action,
      generation: worker.generation,
      targets: targetsOf(worker, nodes, reported),
      at: this.#clock.now(),
    }
    await this.#cluster.saveOperation(operation)
    await this.#cluster.announce(name)
    return operation
  }

  /** What it looks like when it ends, or when the time is over. */
  async settle(operation: OperationRecord, waitMs: number): Promise<Operation> {
    const deadline = this.#clock.monotonic() + waitMs
    let wake: () => void = () => undefined
    let news = false
    const unlisten = this.#cluster.listen((message) => {
      if (message.kind !== 'status' || message.status.worker !== operation.worker) return
      news = true
      wake()
    })
    try {
      for (;;) {
        news = false
        const result = await this.read(operation)
        const left = deadline - this.#clock.monotonic()
        if (left <= 0 || isOver(operation, result)) return result
        if (!news) {
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, Math.min(left, lookMs))
            wake = () => {
              clearTimeout(timer)
              resolve()
            }
          })
        }
      }
    } finally {
      unlisten()
    }
  }

  /** The state of things as an operation that changes nothing, when the worker runs in every process that should run it. */
  async unchanged(worker: StoredWorker): Promise<Operation | undefined> {
    const name = worker.record.name
    const [nodes, reported] = await Promise.all([this.#cluster.nodes(), reportedOn(this.#cluster, name)])
    const targets = targetsOf(worker, nodes, reported)
    const runs = targets.every((node) =>
      statusesOf(worker, reported).some(
        (status) => status.node === node && status.state === 'running' && status.generation === worker.generation,
      ),
    )
    if (targets.length === 0 || !runs) return undefined
    return { id: randomUUID(), generation: worker.generation, targets, applied: targets, failed: [] }
  }

  async find(id: string): Promise<OperationRecord | undefined> {
    return this.#cluster.operation(id)
  }

  async read(operation: OperationRecord): Promise<Operation> {
    const reported = await reportedOn(this.#cluster, operation.worker)
    const progress = operation.targets.map((node) => progressOf(operation, node, reported))
    return {
      id: operation.id,
      generation: operation.generation,
      targets: operation.targets,
      applied: operation.targets.filter((_, index) => progress[index] === 'applied'),
      failed: progress.filter((one) => typeof one === 'object'),
    }
  }
}

/** Living processes that the placement chooses, and those that still run the worker. */
function targetsOf(worker: StoredWorker, nodes: readonly KnownNode[], reported: readonly ReportedStatus[]): readonly string[] {
  const { record } = worker
  const busy = statusesOf(worker, reported).filter(
    ({ alive, state }) => alive && (state === 'running' || state === 'paused' || state === 'stopping'),
  )
  return [...new Set([...placementOf(record.placement, record.name, nodes), ...busy.map(({ node }) => node)])]
}

function progressOf(operation: OperationRecord, node: string, reported: readonly ReportedStatus[]): Progress {
  const status = reported.find((one) => one.node === node && one.workerId === operation.workerId)
  if (status === undefined || status.generation < operation.generation) return 'waiting'
  if (status.error === undefined) return 'applied'
  const { generation = status.generation, ...error } = status.error
  // A worker that FAILED before can still be changed.
  return generation < operation.generation ? 'applied' : { node, ...error }
}

/** A rollout ends where a process could not take its turn. */
function isOver({ action, targets }: OperationRecord, { applied, failed }: Operation): boolean {
  return applied.length + failed.length === targets.length || (action === 'activate' && failed.length > 0)
}

/** Throws what the processes say when none of them could apply it. */
export function demandSuccess({ failed, targets }: Operation): void {
  const [first] = failed
  if (first !== undefined && failed.length === targets.length) throw new ZinError(first.code, first.message, { status: first.status })
}
