import type { LeasedNode, NodeInfo } from '../contract.js'

/** A message on its way. */
export interface Envelope {
  readonly kind: string
  readonly from: string
  readonly body?: unknown
}

/** Kinds of the cluster itself. `nodes`: one joined, left or changed its labels. `vacant`: a role was given up; the body is its name. */
export const nodesChanged = 'cluster.nodes'
export const roleVacant = 'cluster.vacant'

/** How long a node whose lease ended stays listed, in ms. */
export const lostNodeMs = 300_000

/** What a process hears. */
export interface StoreListener {
  readonly onMessage: (message: Envelope) => void
  /** It hears again after it was cut off. */
  readonly onMissed: () => void
}

export interface Renewal {
  /** The store did not know a running lease of this node: it joined, now or anew. */
  readonly joined: boolean
  /** Grows when a node joins, leaves or changes its labels. */
  readonly version: number
  /** Nodes whose lease has ended (0 ms or less) or is not renewed as it should be. */
  readonly late: readonly { readonly id: string; readonly leaseMs: number }[]
}

export interface NodeList {
  readonly version: number
  readonly nodes: readonly LeasedNode[]
}

/**
 * Where the nodes of an app meet. One contract test runs on all. Times are those of the store's clock. A method that cannot reach the
 * store rejects, and `isUnavailable` knows the error.
 */
export interface ClusterStore {
  readonly kind: 'memory' | 'redis' | 'sql'
  /** Hears messages from here on. */
  open(listener: StoreListener): Promise<void>
  /** Ends the connections and timers it made. Leases stay: see `leave`. */
  close(): Promise<void>

  /** Takes or renews a lease: one round trip. `changed`: the labels are new, so the others are told. */
  renew(node: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal>
  /** Gives the lease up, and with it every role; tells the others. */
  leave(node: string): Promise<void>
  read(): Promise<NodeList>
  publish(message: Envelope): Promise<void>

  /**
   * Takes a role that no living node holds, or confirms it for its holder: the epoch, which grows with every change of hands.
   * Undefined: another living node holds it, or this one has no lease.
   */
  acquire(role: string, node: string): Promise<number | undefined>
  /** The newest epoch of a role; 0 before the first. */
  epoch(role: string): Promise<number>
  /** Gives a role up if `node` holds it, and tells the others. */
  release(role: string, node: string): Promise<void>
  /** Forgets lost nodes and old messages. For the leader. */
  sweep(): Promise<void>

  isUnavailable(error: unknown): boolean
}
