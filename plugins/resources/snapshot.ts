/** Usage of one node (process); values over time are since its previous snapshot. All values are per node, not per worker. */
export interface ResourceUsage {
  /** Share of time that the event loop was busy, 0–1. A high value with an idle CPU indicates blocking I/O. */
  readonly eventLoopUtilization: number
  /** How late timers fired, in ms; null in the first snapshot. */
  readonly eventLoopDelayP50Ms: number | null
  readonly eventLoopDelayP99Ms: number | null
  /** CPU cores in use, such as 1.5. */
  readonly cpuCores: number
  /** CPU cores available to the process: the quota of its container, else those of the machine. */
  readonly cpuLimit: number
  /** Resident memory, in bytes. */
  readonly rss: number
  /** In bytes. */
  readonly heapUsed: number
  /** Heap size at which V8 aborts the process, in bytes. */
  readonly heapLimit: number
  /** Memory outside the heap that is bound to heap objects, such as buffers, in bytes. */
  readonly external: number
  /** Time in garbage collection, in ms; null in the first snapshot. */
  readonly gcMs: number | null
  /** Memory available to the process: the limit of its container, else the memory of the machine, in bytes. */
  readonly memoryLimit: number
  /** Memory of the container without reclaimable file cache, in bytes; null without a container limit. */
  readonly containerMemory: number | null
  /** How long threads were throttled by the container's CPU quota, in ms; null in the first snapshot, and where it is unavailable. */
  readonly throttledMs: number | null
  /** Round trip to the key-value store, in ms; null if there was no response. */
  readonly storeMs: number | null
}

export interface ActiveAlert {
  readonly rule: AlertRule
  /** ms since 1970. */
  readonly since: number
  readonly value: number
  readonly threshold: number
  /** The reason with its numbers, as one sentence. */
  readonly reason: string
}

export const alertRules = ['event-loop-busy', 'event-loop-delay', 'heap', 'container-memory', 'memory-trend'] as const
export type AlertRule = (typeof alertRules)[number]

export interface ResourceSnapshot extends ResourceUsage {
  /** Id of the node in the cluster. */
  readonly node: string
  /** ms since 1970. */
  readonly at: number
  /** Time since the previous snapshot, or since the process started for the first one, in ms. */
  readonly spanMs: number
  /** Alerts of the node that were active at that time. */
  readonly alerts: readonly ActiveAlert[]
}
