import type { Clock } from 'zin'
import {
  type AttemptCounts,
  type AttemptDelta,
  type CountsQuery,
  mostChanges,
  type News,
  type NodeStatus,
  type OperationRecord,
  type StateStore,
  type StoredStatus,
  type WorkerCounts,
} from './contract.js'
import { dayMs } from './keep.js'
import { MemoryCounts } from './memory-counts.js'

/** Opens a state store in the memory of this process. */
export function memoryState({ clock }: { readonly clock: Clock }): StateStore {
  return new MemoryState(clock)
}

class MemoryState implements StateStore {
  readonly kind = 'memory'
  readonly #clock: Clock
  /** By node, then by worker. */
  readonly #statuses = new Map<string, Map<string, NodeStatus>>()
  readonly #operations = new Map<string, OperationRecord>()
  readonly #counts: MemoryCounts
  /** Worker → revision, oldest change first. */
  readonly #changes = new Map<string, number>()
  #revision = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#counts = new MemoryCounts(clock)
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    const known = this.#statuses.get(node) ?? new Map<string, NodeStatus>()
    this.#statuses.set(node, known)
    for (const status of statuses) known.set(status.worker, status)
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    const known = this.#statuses.get(node)
    if (known?.get(worker)?.workerId === workerId) known.delete(worker)
  }

  async forgetNode(node: string): Promise<void> {
    this.#statuses.delete(node)
  }

  async statuses(workers: readonly string[]): Promise<readonly StoredStatus[]> {
    const names = [...new Set(workers)]
    return [...this.#statuses].flatMap(([node, known]) =>
      names.flatMap((worker) => {
        const status = known.get(worker)
        return status === undefined ? [] : [{ ...status, node }]
      }),
    )
  }

  async running(nodes: readonly string[]): Promise<ReadonlySet<string>> {
    const statuses = nodes.flatMap((node) => [...(this.#statuses.get(node)?.values() ?? [])])
    return new Set(statuses.filter(({ state }) => state === 'running').map(({ worker }) => worker))
  }

  async change(worker: string): Promise<number> {
    this.#changes.delete(worker)
    this.#changes.set(worker, ++this.#revision)
    const [oldest] = this.#changes.keys()
    if (this.#changes.size > mostChanges && oldest !== undefined) this.#changes.delete(oldest)
    return this.#revision
  }

  async news(node: string, since: number): Promise<News> {
    const reported = (this.#statuses.get(node)?.size ?? 0) > 0
    const known = since >= 0 && since <= this.#revision && this.#revision - since < mostChanges
    const changed = known ? new Map([...this.#changes].filter(([, revision]) => revision > since)) : 'all'
    return { revision: this.#revision, changed, reported }
  }

  async saveOperation(operation: OperationRecord): Promise<void> {
    this.#operations.set(operation.id, operation)
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const operation = this.#operations.get(id)
    return operation !== undefined && operation.at > this.#clock.now() - dayMs ? operation : undefined
  }

  async count(deltas: readonly AttemptDelta[]): Promise<number> {
    this.#counts.add(deltas)
    return deltas.length
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return this.#counts.totals(workers)
  }

  async counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    return this.#counts.counts(workers, query)
  }

  async erase(worker: string, workerId: string): Promise<void> {
    this.#counts.erase(workerId)
    for (const node of this.#statuses.keys()) await this.forget(node, worker, workerId)
    for (const [id, operation] of this.#operations) if (operation.workerId === workerId) this.#operations.delete(id)
  }

  async sweep(nodes: readonly string[]): Promise<void> {
    const now = this.#clock.now()
    for (const node of this.#statuses.keys()) if (!nodes.includes(node)) this.#statuses.delete(node)
    for (const [id, { at }] of this.#operations) if (at < now - dayMs) this.#operations.delete(id)
    this.#counts.sweep()
  }

  isUnavailable(): boolean {
    return false
  }
}
