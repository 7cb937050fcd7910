import type { LeasedNode, NodeInfo } from '../contract.js'

/** A message as it is sent. */
export interface Envelope {
  readonly kind: string
  readonly from: string
  readonly body?: unknown
}

/** Internal message kinds. `nodes`: a node joined, left or changed its labels. `released`: a role was released; the body is its name. */
export const nodesChanged = 'cluster.nodes'
export const roleReleased = 'cluster.released'

/** How long a node stays listed after its lease has expired, in ms. */
export const lostNodeMs = 300_000

/** The callbacks of a subscription. */
export interface StoreListener {
  readonly onMessage: (message: Envelope) => void
  /** The subscription is restored after a lost connection. */
  readonly onMissed: () => void
}

export interface Renewal {
  /** The store had no valid lease for this node, so it joined or rejoined. */
  readonly joined: boolean
  /** Increases when a node joins, leaves or changes its labels. */
  readonly version: number
  /** Nodes whose lease has expired (0 ms or less) or whose renewal is overdue. */
  readonly late: readonly { readonly id: string; readonly leaseMs: number }[]
}

export interface NodeList {
  readonly version: number
  readonly nodes: readonly LeasedNode[]
}

/**
 * The store of a cluster. One contract test covers all implementations. Times are those of the store's clock. A method that cannot reach
 * the store rejects with an error that `isUnavailable` recognizes.
 */
export interface ClusterStore {
  readonly kind: 'memory' | 'redis' | 'sql'
  /** Subscribes to messages. */
  open(listener: StoreListener): Promise<void>
  /** Closes its connections and timers. Leases remain: see `leave`. */
  close(): Promise<void>

  /** Acquires or renews a lease: one round trip. `changed`: the labels changed, so the other nodes are notified. */
  renew(node: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal>
  /** Releases the lease and with it every role; notifies the other nodes. */
  leave(node: string): Promise<void>
  read(): Promise<NodeList>
  publish(message: Envelope): Promise<void>

  /**
   * Acquires a role that no live node holds, or confirms it for its holder. Returns the epoch, which increases each time the role changes
   * hands; undefined when another live node holds the role, or this one has no lease.
   */
  acquire(role: string, node: string): Promise<number | undefined>
  /** The newest epoch of a role; 0 before the first. */
  epoch(role: string): Promise<number>
  /** Releases a role if `node` holds it, and notifies the other nodes. `forget`: deletes its epoch. */
  release(role: string, node: string, forget?: boolean): Promise<void>
  /** Deletes lost nodes and old messages. For the leader. */
  sweep(): Promise<void>

  isUnavailable(error: unknown): boolean
}
