import { defineService } from 'zin'

/** Labels that plugins set on their node, readable by other nodes: flat, small JSON. Prefix a key with the name of your plugin. */
export type NodeLabels = Readonly<Record<string, string | number | boolean>>

/** The description of a node: one process of the app. */
export interface NodeInfo {
  /** Unique per process start: ASCII, at most 100 characters, `<host>:<pid>:<random>`. */
  readonly id: string
  readonly host: string
  readonly pid: number
  /** ms since 1970. */
  readonly startedAt: number
  readonly labels: NodeLabels
}

/** A node as this node last read it. */
export interface ClusterNode extends NodeInfo {
  /** Whether its lease is valid. A lost node stays listed for five minutes. */
  readonly alive: boolean
}

/** A node with its lease, read from the store. */
export interface LeasedNode extends ClusterNode {
  /** When its lease ends or ended, ms since 1970 by the clock of the store. */
  readonly leaseUntil: number
  /** ms until its lease ends, by the clock of the store; 0 when it has ended. */
  readonly leaseMs: number
}

export interface NodesChange {
  readonly nodes: readonly ClusterNode[]
  /** Ids of nodes that joined or rejoined. */
  readonly joined: readonly string[]
  /** Ids of nodes that left or whose lease expired. */
  readonly left: readonly string[]
}

/** The kind of a message, with the type of its body. */
export interface MessageKind<Body> {
  readonly name: string
  /** Carries the type only; never set. */
  readonly body?: Body
}

/**
 * Declares a kind of message. Prefix its name with the name of your plugin. The body must be JSON.
 *
 * @example
 * const cacheCleared = defineMessage<{ readonly cache: string }>('shop.cache-cleared')
 */
export function defineMessage<Body>(name: string): MessageKind<Body> {
  return { name }
}

export interface RoleListener {
  /** This node became the leader; pass the epoch along with its writes. */
  readonly onGain?: (epoch: number) => void
  /** This node may no longer act as the leader. */
  readonly onLoss?: () => void
}

/** A role that one node holds at a time. */
export interface Leadership {
  /** Whether this node may act as the leader; false once its lease has not been renewed in time, by the monotonic clock. */
  readonly leads: boolean
  /** Increases each time the role changes hands; 0 before the first time. */
  readonly epoch: number
  /** Resolves when the first attempt to acquire the role has ended, successfully or not. Later ones follow when it may be free. */
  readonly tried: Promise<void>
  /**
   * Releases the role and stops running for it. `forget`: the epochs begin again, so that a role that comes and goes leaves nothing behind;
   * not for roles whose epoch is checked with `isCurrent`.
   */
  resign(options?: { readonly forget?: boolean }): Promise<void>
}

/**
 * The nodes of an app, messages to all of them, and leader roles. An idle node costs one write per heartbeat, whatever roles it holds
 * and however many other nodes exist.
 *
 * @example
 * const leadership = cluster.lead('shop.reports', { onGain: (epoch) => reports.start(epoch), onLoss: () => reports.stop() })
 * const cacheCleared = defineMessage<{ readonly cache: string }>('shop.cache-cleared')
 * const stop = cluster.on(cacheCleared, ({ cache }) => caches.clear(cache))
 * await cluster.send(cacheCleared, { cache: 'prices' })
 */
export interface Cluster {
  readonly kind: 'memory' | 'redis' | 'sql'
  /** This node. */
  readonly node: NodeInfo
  /** The nodes as last read, at most one heartbeat old. No round trip. */
  nodes(): readonly ClusterNode[]
  /** The nodes with their leases, from the store: one round trip. */
  readNodes(): Promise<readonly LeasedNode[]>
  /** Called when nodes join, leave, are lost or change their labels. Returns a function that removes the listener. */
  onNodes(listener: (change: NodesChange) => void): () => void
  /** Sets labels of this node and notifies the other nodes. If the store is unavailable, it rejects, and the next heartbeat stores them. */
  label(labels: NodeLabels): Promise<void>
  /** Sends a message to every node of the app, including this one. Listeners receive it once; messages of one sender stay in order. */
  send<Body>(kind: MessageKind<Body>, body: Body): Promise<void>
  /** Called for each message of a kind, with the id of its sender. Returns a function that removes the listener. */
  on<Body>(kind: MessageKind<Body>, listener: (body: Body, from: string) => void): () => void
  /** Called when this node may have missed messages: read the stored state. Returns a function that removes the listener. */
  onMissed(listener: () => void): () => void
  /** Runs for a role. Callers on the same node share the role; it is released when all of them have resigned. */
  lead(role: string, listener?: RoleListener): Leadership
  /** Whether `epoch` is still the newest of a role. Check it before a write that a previous leader must not make. One round trip. */
  isCurrent(role: string, epoch: number): Promise<boolean>
  /** Whether an error means that the store of the cluster cannot be reached. */
  isUnavailable(error: unknown): boolean
}

export const clusterService = defineService<Cluster>('cluster')
