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

/** Labels that this plugin sets on a node. */
const regionLabel = 'workers.region'
const consumesLabel = 'workers.consumes'
const drainingLabel = 'workers.draining'

/** Stands for the name of a worker, which has letters, in the status that contains the number of jobs of a node. */
const load = '*'

function loadOf(busy: number): NodeStatus {
  const nothing = { version: null, draining: {}, concurrency: 0, generation: 0, placed: false, state: 'stopped', at: 0 } as const
  return { worker: load, workerId: load, ...nothing, busy }
}

type StatusMessage = { readonly statuses: readonly NodeStatus[] }
type OtherMessage = Exclude<WorkerMessage, { readonly kind: 'status' }>

const statusMessage = defineMessage<StatusMessage>('workers.status')
const otherMessage = defineMessage<OtherMessage>('workers.message')

export interface SharedStateOptions {
  readonly cluster: Cluster
  readonly store: StateStore
  /** Whether only this process can use the stores, so that every other node has ended, whatever its lease says. Default false. */
  readonly single?: boolean
}

/** The shared state of workers: the nodes and messages of the cluster, and a store for observations. */
export class SharedState {
  readonly #cluster: Cluster
  readonly #store: StateStore
  readonly #single: boolean
  #draining = false

  constructor({ cluster, store, single = false }: SharedStateOptions) {
    this.#cluster = cluster
    this.#store = store
    this.#single = single
  }

  /** Id of this node. */
  get node(): string {
    return this.#cluster.node.id
  }

  /** Publishes the region of this node, whether it runs workers, and whether it drains. */
  async describe(labels: { readonly region?: string; readonly consumes?: boolean; readonly draining?: boolean }): Promise<void> {
    const { region, consumes, draining } = labels
    if (draining !== undefined) this.#draining = draining
    await this.#cluster.label({
      ...(region === undefined ? {} : { [regionLabel]: region }),
      ...(consumes === undefined ? {} : { [consumesLabel]: consumes }),
      ...(draining === undefined ? {} : { [drainingLabel]: draining }),
    })
  }

  /** Whether this node drains. */
  get draining(): boolean {
    return this.#draining
  }

  /** Lets this node drain, or take jobs again. Other nodes learn of it by {@link describe}. */
  drain(draining: boolean): void {
    this.#draining = draining
  }

  /**
   * Returns the nodes as this one last saw them, without I/O. This one is always alive: its lease may have ended while the store could not be
   * written, but it still runs, and must not stop its workers for that.
   */
  known(): readonly WorkerNodeInfo[] {
    const own = this.#cluster.node
    const others = this.#cluster.nodes().filter(({ id }) => id !== own.id)
    return [...this.#living(others).map(workerNode), { ...workerNode({ ...own, alive: true }), draining: this.#draining }]
  }

  /** Returns the nodes with their leases, in one round trip. */
  async nodes(): Promise<readonly KnownNode[]> {
    const nodes = await this.#cluster.readNodes()
    return this.#living(nodes).map((node) => {
      const { host, pid, startedAt, leaseUntil, leaseMs } = node
      return { ...workerNode(node), host, pid, startedAt, leaseUntil, leaseMs }
    })
  }

  /** Calls the listener with the ids of nodes that joined or left. Returns a function that removes it. */
  onNodes(listener: (joined: readonly string[], left: readonly string[]) => void): () => void {
    return this.#cluster.onNodes(({ joined, left }) => listener(joined, left))
  }

  /** Calls the listener when messages may have been missed. Returns a function that removes it. */
  onMissed(listener: () => void): () => void {
    return this.#cluster.onMissed(listener)
  }

  /** Stores and publishes statuses of this node, with one write and one message. */
  async report(statuses: readonly NodeStatus[]): Promise<void> {
    if (statuses.length === 0) return
    await this.#store.report(this.node, statuses)
    await this.#cluster.send(statusMessage, { statuses })
  }

  /** Stores statuses of this node, and how many jobs it runs, without publishing them. */
  restore(statuses: readonly NodeStatus[], busy: number): Promise<void> {
    return this.#store.report(this.node, [...statuses, loadOf(busy)])
  }

  /** Returns how many jobs run on each node, in one round trip. */
  async busy(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.#store.statuses([load])).map(({ busy, node }) => [node, busy]))
  }

  /** Deletes the status of a removed worker on this node, and publishes that. */
  async forget(worker: string, workerId: string): Promise<void> {
    await this.#store.forget(this.node, worker, workerId)
    await this.send({ kind: 'forgotten', worker, workerId })
  }

  /** Deletes all statuses of this node. */
  leave(): Promise<void> {
    return this.#store.forgetNode(this.node)
  }

  /** Returns the statuses of these workers on all nodes, by worker name, in one round trip; two if one is from an unknown node. */
  async statuses(workers: readonly string[]): Promise<ReadonlyMap<string, readonly ReportedStatus[]>> {
    const stored = await this.#store.statuses(workers)
    const known = new Map(this.#living(this.#cluster.nodes()).map(({ id, alive }) => [id, alive]))
    const news = stored.some(({ node }) => !known.has(node)) ? this.#living(await this.#cluster.readNodes()) : []
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

  /** Returns the statuses of a worker on all nodes, including those of an earlier worker with the same name. */
  async statusesOf(worker: string): Promise<readonly ReportedStatus[]> {
    return (await this.statuses([worker])).get(worker) ?? []
  }

  /** Returns the names of workers that a live node reports as `running`, in one round trip. */
  running(): Promise<ReadonlySet<string>> {
    return this.#store.running(
      this.#living(this.#cluster.nodes())
        .filter(({ alive }) => alive)
        .map(({ id }) => id),
    )
  }

  /** Records and publishes that a stored worker changed. */
  async publishChange(worker: string): Promise<void> {
    const revision = await this.#store.change(worker)
    await this.send({ kind: 'change', worker, revision })
  }

  /** Returns the changes since a revision, in one round trip. */
  news(since: number): Promise<News> {
    return this.#store.news(this.node, since)
  }

  send(message: OtherMessage): Promise<void> {
    return this.#cluster.send(otherMessage, message)
  }

  /** Calls the listener for all messages about workers, including those of this node. Returns a function that removes it. */
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

  erase(worker: string, workerId: string): Promise<void> {
    return this.#store.erase(worker, workerId)
  }

  /** Deletes expired entries, and statuses of unknown nodes. Called by the leader. */
  async sweep(): Promise<void> {
    await this.#store.sweep((await this.#cluster.readNodes()).map(({ id }) => id))
  }

  #living<Node extends Pick<ClusterNode, 'id' | 'alive'>>(nodes: readonly Node[]): readonly Node[] {
    return this.#single ? nodes.map((node) => ({ ...node, alive: node.alive && node.id === this.node })) : nodes
  }

  isUnavailable(error: unknown): boolean {
    return this.#store.isUnavailable(error) || this.#cluster.isUnavailable(error)
  }
}

function workerNode({ id, alive, labels }: Pick<ClusterNode, 'id' | 'alive' | 'labels'>): WorkerNodeInfo {
  const [consumes, draining] = [labels[consumesLabel] === true, labels[drainingLabel] === true]
  return { id, alive, region: String(labels[regionLabel] ?? ''), consumes, draining }
}
