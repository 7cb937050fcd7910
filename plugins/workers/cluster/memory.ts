import type { Clock } from 'zin'
import type {
  AttemptCounts,
  AttemptDelta,
  Beat,
  Cluster,
  ClusterMessage,
  KnownNode,
  MinuteCounts,
  NodeInfo,
  NodeStatus,
  OperationRecord,
  ReportedStatus,
  SentMessage,
} from './cluster.js'
import { byWorker } from './group.js'
import { dayMs, lostNodeMs } from './keep.js'
import { Listeners } from './listeners.js'
import { MemoryCounts } from './memory-counts.js'

interface Lease {
  readonly info: NodeInfo
  readonly until: number
}

interface Role {
  readonly node: string | undefined
  readonly epoch: number
  readonly until: number
}

/** A cluster of one process; nothing outlives it. */
export function memoryCluster({ clock }: { readonly clock: Clock }): Cluster {
  return new MemoryCluster(clock)
}

class MemoryCluster implements Cluster {
  readonly kind = 'memory'
  readonly #clock: Clock
  readonly #listeners = new Listeners()
  readonly #leases = new Map<string, Lease>()
  /** By node, then by worker. */
  readonly #statuses = new Map<string, Map<string, NodeStatus>>()
  readonly #operations = new Map<string, OperationRecord>()
  readonly #counts: MemoryCounts
  readonly #roles = new Map<string, Role>()
  #revision = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#counts = new MemoryCounts(clock)
  }

  async open(): Promise<void> {}
  async close(): Promise<void> {}

  async beat(node: NodeInfo, leaseMs: number): Promise<Beat> {
    const joined = !this.#alive(node.id)
    this.#leases.set(node.id, { info: node, until: this.#clock.now() + leaseMs })
    if (joined) this.#tell({ kind: 'node', node: node.id, joined })
    return { revision: this.#revision, nodes: await this.nodes() }
  }

  async leave(node: string): Promise<void> {
    this.#statuses.delete(node)
    if (this.#leases.delete(node)) this.#tell({ kind: 'node', node, joined: false })
  }

  async nodes(): Promise<readonly KnownNode[]> {
    const now = this.#clock.now()
    return [...this.#leases.values()].map(({ info, until }) => ({
      ...info,
      alive: until > now,
      leaseUntil: until,
      leaseMs: Math.max(0, until - now),
    }))
  }

  async report(node: string, statuses: readonly NodeStatus[]): Promise<void> {
    const known = this.#statuses.get(node) ?? new Map<string, NodeStatus>()
    this.#statuses.set(node, known)
    for (const status of statuses) {
      known.set(status.worker, status)
      this.#tell({ kind: 'status', node, status })
    }
  }

  async forget(node: string, worker: string, workerId: string): Promise<void> {
    const known = this.#statuses.get(node)
    if (known?.get(worker)?.workerId === workerId) known.delete(worker)
  }

  async statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>> {
    const found: ReportedStatus[] = []
    for (const [node, known] of this.#statuses) {
      if (!this.#leases.has(node)) continue
      for (const worker of new Set(workers)) {
        const status = known.get(worker)
        if (status !== undefined) found.push({ ...status, node, alive: this.#alive(node) })
      }
    }
    return byWorker(found)
  }

  async running(): Promise<ReadonlySet<string>> {
    const living = [...this.#statuses].filter(([node]) => this.#alive(node)).flatMap(([, known]) => [...known.values()])
    return new Set(living.filter(({ state }) => state === 'running').map(({ worker }) => worker))
  }

  async announce(worker: string): Promise<void> {
    this.#revision++
    this.#tell({ kind: 'change', worker })
  }

  async send(message: SentMessage): Promise<void> {
    this.#tell(message)
  }

  listen(listener: (message: ClusterMessage) => void): () => void {
    return this.#listeners.add(listener)
  }

  async saveOperation(operation: OperationRecord): Promise<void> {
    this.#operations.set(operation.id, operation)
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    const operation = this.#operations.get(id)
    return operation !== undefined && operation.at > this.#clock.now() - dayMs ? operation : undefined
  }

  async count(deltas: readonly AttemptDelta[]): Promise<void> {
    this.#counts.add(deltas)
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return this.#counts.totals(workers)
  }

  async minutes(worker: string, since: number): Promise<readonly MinuteCounts[]> {
    return this.#counts.minutes(worker, since)
  }

  async erase(worker: string): Promise<void> {
    this.#counts.erase(worker)
    for (const known of this.#statuses.values()) known.delete(worker)
    for (const [id, operation] of this.#operations) if (operation.worker === worker) this.#operations.delete(id)
  }

  async lead(role: string, node: string, leaseMs: number): Promise<number | undefined> {
    const now = this.#clock.now()
    const held = this.#roles.get(role) ?? { node: undefined, epoch: 0, until: 0 }
    if (held.node !== node && held.until > now) return undefined
    const epoch = held.node === node ? held.epoch : held.epoch + 1
    this.#roles.set(role, { node, epoch, until: now + leaseMs })
    return epoch
  }

  async leads(role: string, epoch: number): Promise<boolean> {
    return this.#roles.get(role)?.epoch === epoch
  }

  async resign(role: string, node: string): Promise<void> {
    const held = this.#roles.get(role)
    if (held?.node !== node) return
    this.#roles.set(role, { node: undefined, epoch: held.epoch, until: 0 })
    this.#tell({ kind: 'vacant', role })
  }

  async sweep(): Promise<void> {
    const now = this.#clock.now()
    for (const [node, { until }] of this.#leases) if (until < now - lostNodeMs) this.#leases.delete(node)
    for (const node of this.#statuses.keys()) if (!this.#leases.has(node)) this.#statuses.delete(node)
    for (const [id, { at }] of this.#operations) if (at < now - dayMs) this.#operations.delete(id)
    this.#counts.sweep()
  }

  isUnavailable(): boolean {
    return false
  }

  #alive(node: string): boolean {
    return (this.#leases.get(node)?.until ?? 0) > this.#clock.now()
  }

  #tell(message: ClusterMessage): void {
    queueMicrotask(() => this.#listeners.tell(message))
  }
}
