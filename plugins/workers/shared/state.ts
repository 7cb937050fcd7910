import { type Cluster, type ClusterNode, defineMessage } from 'zin/plugins/cluster'
import type {
  AttemptCounts,
  AttemptDelta,
  CountsQuery,
  KnownNode,
  News,
  NodeStatus,
  OperationRecord,
  ReportedStatus,
  StateStore,
  WorkerCounts,
  WorkerMessage,
  WorkerNodeInfo,
} from './contract.js'

/** Labels of a node that workers give it. */
const regionLabel = 'workers.region'
const consumesLabel = 'workers.consumes'

type StatusMessage = { readonly statuses: readonly NodeStatus[] }
type OtherMessage = Exclude<WorkerMessage, { readonly kind: 'status' }>

const statusMessage = defineMessage<StatusMessage>('workers.status')
const otherMessage = defineMessage<OtherMessage>('workers.message')

export interface SharedStateOptions {
  readonly cluster: Cluster
  readonly store: StateStore
}

/** What the nodes of the app share of workers: the cluster's nodes and messages, and a store for what they observe. */
export class SharedState {
  readonly #cluster: Cluster
  readonly #store: StateStore

  constructor({ cluster, store }: SharedStateOptions) {
    this.#cluster = cluster
    this.#store = store
  }

  /** Id of this process. */
  get node(): string {
    return this.#cluster.node.id
  }

  /** Says to the others what this process does for workers. */
  async describe(labels: { readonly region?: string; readonly consumes?: boolean }): Promise<void> {
    const { region, consumes } = labels
    await this.#cluster.label({
      ...(region === undefined ? {} : { [regionLabel]: region }),
      ...(consumes === undefined ? {} : { [consumesLabel]: consumes }),
    })
  }

  /** The nodes as this process last heard of them. */
  known(): readonly WorkerNodeInfo[] {
    return this.#cluster.nodes().map(workerNode)
  }

  /** The nodes with their leases; one round trip. */
  async nodes(): Promise<readonly KnownNode[]> {
    const nodes = await this.#cluster.readNodes()
    return nodes.map((node) => {
      const { host, pid, startedAt, leaseUntil, leaseMs } = node
      return { ...workerNode(node), host, pid, startedAt, leaseUntil, leaseMs }
    })
  }

  /** Called when nodes came or went, with ids. Returns what ends it. */
  onNodes(listener: (joined: readonly string[], left: readonly string[]) => void): () => void {
    return this.#cluster.onNodes(({ joined, left }) => listener(joined, left))
  }

  /** Called when messages may have been missed. Returns what ends it. */
  onMissed(listener: () => void): () => void {
    return this.#cluster.onMissed(listener)
  }

  /** Stores and publishes the statuses of this node: one write and one message for all of them. */
  async report(statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    await this.#store.report(this.node, statuses)
    await this.#cluster.send(statusMessage, { statuses })
  }

  /** Stores again what the store has lost; the others know it. */
  restore(statuses: readonly NodeStatus[]): Promise<void> {
    return this.#store.report(this.node, statuses)
  }

  /** Deletes the status of a removed worker on this node, and tells those who wait for that. */
  async forget(worker: string, workerId: string): Promise<void> {
    await this.#store.forget(this.node, worker, workerId)
    await this.send({ kind: 'forgotten', worker, workerId })
  }

  /** Forgets everything that this process said. */
  leave(): Promise<void> {
    return this.#store.forgetNode(this.node)
  }

  /** What the nodes say of these workers, by worker name; one round trip. */
  async statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>> {
    const stored = await this.#store.statuses(workers)
    const known = new Map(this.#cluster.nodes().map(({ id, alive }) => [id, alive]))
    const news = stored.some(({ node }) => !known.has(node)) ? await this.#cluster.readNodes() : []
    for (const { id, alive } of news) known.set(id, alive)
    const groups = new Map<string, ReportedStatus[]>()
    for (const status of stored) {
      const alive = known.get(status.node)
      if (alive === undefined) continue
      const group = groups.get(status.worker) ?? []
      groups.set(status.worker, group)
      group.push({ ...status, alive })
    }
    return groups
  }

  /** What the nodes say of one worker, or of an earlier one of its name. */
  async statusesOf(worker: string): Promise<readonly ReportedStatus[]> {
    return (await this.statuses([worker])).get(worker) ?? []
  }

  /** Names of workers that a living node says are `running`; one round trip. */
  running(): Promise<ReadonlySet<string>> {
    return this.#store.running(
      this.#cluster
        .nodes()
        .filter(({ alive }) => alive)
        .map(({ id }) => id),
    )
  }

  /** Says that a stored worker changed. */
  async publishChange(worker: string): Promise<void> {
    const revision = await this.#store.change(worker)
    await this.send({ kind: 'change', worker, revision })
  }

  /** What changed since a revision; one round trip. */
  news(since: number): Promise<News> {
    return this.#store.news(this.node, since)
  }

  send(message: OtherMessage): Promise<void> {
    return this.#cluster.send(otherMessage, message)
  }

  /** Called for all messages about workers, also those of this process. Returns what ends it. */
  listen(listener: (message: WorkerMessage) => void): () => void {
    const ends = [
      this.#cluster.on(otherMessage, listener),
      this.#cluster.on(statusMessage, ({ statuses }, node) => {
        for (const status of statuses) listener({ kind: 'status', node, status })
      }),
    ]
    return () => ends.forEach((end) => void end())
  }

  saveOperation(operation: OperationRecord): Promise<void> {
    return this.#store.saveOperation(operation)
  }

  operation(id: string): Promise<OperationRecord | undefined> {
    return this.#store.operation(id)
  }

  count(deltas: readonly AttemptDelta[]): Promise<number> {
    return this.#store.count(deltas)
  }

  totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    return this.#store.totals(workers)
  }

  counts(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    return this.#store.counts(workers, query)
  }

  erase(worker: string): Promise<void> {
    return this.#store.erase(worker)
  }

  /** Forgets what is old. For the leader. */
  async sweep(): Promise<void> {
    await this.#store.sweep((await this.#cluster.readNodes()).map(({ id }) => id))
  }

  isUnavailable(error: unknown): boolean {
    return this.#store.isUnavailable(error) || this.#cluster.isUnavailable(error)
  }
}

function workerNode({ id, alive, labels }: ClusterNode): WorkerNodeInfo {
  return { id, alive, region: String(labels[regionLabel] ?? ''), consumes: labels[consumesLabel] === true }
}
