import { defineService } from 'zin'

/** Labels that plugins put on their process, for others to see: flat, small JSON. Begin a key with the name of your plugin. */
export type NodeLabels = Readonly<Record<string, string | number | boolean>>

/** A process of the app, as it describes itself. */
export interface NodeInfo {
  /** Unique per process start: ASCII, at most 100 characters, `<host>:<pid>:<random>`. */
  readonly id: string
  readonly host: string
  readonly pid: number
  /** ms since 1970. */
  readonly startedAt: number
  readonly labels: NodeLabels
}

/** A node that this process knows of. */
export interface ClusterNode extends NodeInfo {
  /** Its lease runs. A lost node is listed for five minutes more. */
  readonly alive: boolean
}

/** A node with its lease, as the store has it. */
export interface LeasedNode extends ClusterNode {
  /** When its lease ends or ended, ms since 1970 by the clock of the store. */
  readonly leaseUntil: number
  /** ms until its lease ends, by the clock of the store; 0 when it has ended. */
  readonly leaseMs: number
}

export interface NodesChange {
  readonly nodes: readonly ClusterNode[]
  /** Ids of nodes that joined, or are back. */
  readonly joined: readonly string[]
  /** Ids of nodes that left, or whose lease ended. */
  readonly left: readonly string[]
}

/** What a message is about, and the type of its body. */
export interface MessageKind<Body> {
  readonly name: string
  /** Only for its type; never there. */
  readonly body?: Body
}

/**
 * Declares a kind of message. Begin its name with the name of your plugin. The body must be JSON.
 *
 * @example
 * const cacheCleared = defineMessage<{ readonly cache: string }>('shop.cache-cleared')
 */
export function defineMessage<Body>(name: string): MessageKind<Body> {
  return { name }
}

export interface RoleListener {
  /** This process leads from now on; the epoch goes with its writes. */
  readonly onGain?: (epoch: number) => void
  /** It may no longer act as the leader. */
  readonly onLoss?: () => void
}

/** A role that one node of the app has at a time. */
export interface Leadership {
  /** Whether this process may act now; false as soon as its lease was not renewed in time by the monotonic clock. */
  readonly leads: boolean
  /** Grows with every change of hands; 0 before the first. */
  readonly epoch: number
  /** Gives the role up and no longer runs for it. */
  resign(): Promise<void>
}

/**
 * How the processes of an app act as one: who is there, messages to all, and roles that one of them has. Idle, a process costs one
 * write per heartbeat, whatever it leads and however many others there are.
 *
 * @example
 * const leadership = cluster.lead('shop.reports', { onGain: (epoch) => reports.start(epoch), onLoss: () => reports.stop() })
 * const cacheCleared = defineMessage<{ readonly cache: string }>('shop.cache-cleared')
 * const stop = cluster.on(cacheCleared, ({ cache }) => caches.clear(cache))
 * await cluster.send(cacheCleared, { cache: 'prices' })
 */
export interface Cluster {
  readonly kind: 'memory' | 'redis' | 'sql'
  /** This process. */
  readonly node: NodeInfo
  /** The nodes as this process last heard of them; at most one heartbeat old. No round trip. */
  nodes(): readonly ClusterNode[]
  /** The nodes with their leases, from the store: one round trip. */
  readNodes(): Promise<readonly LeasedNode[]>
  /** Called when nodes join, leave, are lost or change their labels. Returns what ends it. */
  onNodes(listener: (change: NodesChange) => void): () => void
  /** Sets labels of this process and tells the others. */
  label(labels: NodeLabels): Promise<void>
  /** Sends a message to every process of the app, this one included; those that listen get it once, a sender's in their order. */
  send<Body>(kind: MessageKind<Body>, body: Body): Promise<void>
  /** Called for each message of a kind, with the id of the node that sent it. Returns what ends it. */
  on<Body>(kind: MessageKind<Body>, listener: (body: Body, from: string) => void): () => void
  /** Called when this process was cut off and may have missed messages: look at what is stored. Returns what ends it. */
  onMissed(listener: () => void): () => void
  /** Runs for a role. Several may hold it in one process; it is given up when all of them resigned. */
  lead(role: string, listener?: RoleListener): Leadership
  /** Whether `epoch` is still the newest of a role: ask before a write that an earlier leader must not make. One round trip. */
  isCurrent(role: string, epoch: number): Promise<boolean>
  /** Whether an error says that the store of the cluster cannot be reached. */
  isUnavailable(error: unknown): boolean
}

export const clusterService = defineService<Cluster>('cluster')
