/** What one process (a node) used, since its previous snapshot where a time span is meant. Every number is the node's, never a worker's. */
export interface ResourceUsage {
  /** Share of the time that the event loop was busy, 0–1. High with an idle CPU: blocking I/O. */
  readonly eventLoopUtilization: number
  /** How late timers fired, in ms; null in the first snapshot. */
  readonly eventLoopDelayP50Ms: number | null
  readonly eventLoopDelayP99Ms: number | null
  /** Processor cores in use: 1.5 is one and a half. */
  readonly cpuCores: number
  /** Cores that the process may use: the quota of its container, else those of the machine. */
  readonly cpuLimit: number
  /** Resident memory, in bytes. */
  readonly rss: number
  /** In bytes. */
  readonly heapUsed: number
  /** Size at which V8 ends the process, in bytes. */
  readonly heapLimit: number
  /** Memory outside of the heap that its objects hold, such as buffers, in bytes. */
  readonly external: number
  /** Time in garbage collection, in ms; null in the first snapshot. */
  readonly gcMs: number | null
  /** Memory that the process may use: the limit of its container, else the memory of the machine. In bytes. */
  readonly memoryLimit: number
  /** Memory of the container without the file cache that can be reclaimed, in bytes; null outside of one with a limit. */
  readonly containerMemory: number | null
  /** How long the container's quota kept its threads from running, in ms; null in the first snapshot, and where the system does not tell. */
  readonly throttledMs: number | null
  /** Round trip to the key-value store, in ms; null: no response. */
  readonly storeMs: number | null
}

export interface ActiveAlert {
  readonly rule: AlertRule
  /** ms since 1970. */
  readonly since: number
  readonly value: number
  readonly threshold: number
  /** One sentence with the numbers. */
  readonly reason: string
}

export const alertRules = ['event-loop-busy', 'event-loop-delay', 'heap', 'container-memory', 'memory-trend'] as const
export type AlertRule = (typeof alertRules)[number]

export interface ResourceSnapshot extends ResourceUsage {
  /** Id of the node in the cluster. */
  readonly node: string
  /** ms since 1970. */
  readonly at: number
  /** Time since the previous snapshot; of the first one, since the process started. In ms. */
  readonly spanMs: number
  /** Alerts of the node that were active then. */
  readonly alerts: readonly ActiveAlert[]
}
