import { defineService } from 'zin'
import type { Decision } from 'zin/plugins/decisions'
import type { ActiveAlert, ResourceSnapshot, ResourceUsage } from './snapshot.js'

/** An alert of a node that is active. */
export interface NodeAlert extends ActiveAlert {
  /** Id of the node in the cluster. */
  readonly node: string
}

/** How one value of one node changed in the last hour. */
export interface ResourceTrend {
  readonly node: string
  readonly metric: keyof ResourceUsage
  /** Value of the trend line now, in the unit of the metric. */
  readonly level: number
  /** Change per hour, in the unit of the metric. */
  readonly perHour: number
  /** `steady`: the values have no direction, so `perHour` is noise. */
  readonly direction: 'up' | 'down' | 'steady'
  /** What the metric cannot exceed. */
  readonly limit?: number
  /** When the limit is reached if it goes on, in ms from now. Absent: it does not grow steadily towards a limit. */
  readonly limitInMs?: number
  /** `limit in about 3 h`. */
  readonly forecast?: string
}

export interface ResourceHistory {
  /** `fine`: every snapshot. `coarse`: one point for five minutes. */
  readonly resolution: 'fine' | 'coarse'
  /** Newest first. */
  readonly snapshots: readonly ResourceSnapshot[]
  /** Whether older ones were left out. */
  readonly truncated: boolean
}

export interface ResourceHistoryOptions {
  /** 1–720. Up to 24, every snapshot is returned; above, one point for five minutes. Default 24. */
  readonly hours?: number
  /** Id of a node. Default: all. */
  readonly node?: string
  /** 1–10000. Default 3000. */
  readonly limit?: number
}

/**
 * What the processes (nodes) of the app use: event loop, processor, memory. Every value is a node's; workers of one process share it.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { resourcesService } from 'zin/plugins/resources'
 *
 * export const busiest = definePlugin({
 *   name: 'busiest',
 *   version: '1.0.0',
 *   uses: { resources: resourcesService },
 *   setup: ({ route, services }) =>
 *     route({
 *       method: 'GET',
 *       path: '/api/busiest',
 *       summary: 'The node with the busiest event loop',
 *       use: ['ops'],
 *       handler: async () => {
 *         const nodes = await services.resources.current()
 *         return { node: [...nodes].sort((a, b) => b.eventLoopUtilization - a.eventLoopUtilization)[0]?.node }
 *       },
 *     }),
 * })
 */
export interface Resources {
  /** Whether this process measures, and why or why not. */
  readonly monitoring: { readonly running: boolean; readonly reason: string }
  /** Starts it in all processes, and keeps it so over restarts, whatever features workers have. 409 RESOURCE_MONITORING_DISABLED. */
  start(): Promise<void>
  /** Stops it in all processes, and keeps it so over restarts until `start`. */
  stop(): Promise<void>
  /** The last snapshot of each live node; none while it is stopped. */
  current(): Promise<readonly ResourceSnapshot[]>
  history(options?: ResourceHistoryOptions): Promise<ResourceHistory>
  /** Active alerts of live nodes, and the decisions of the last ones that were raised or cleared, newest first. */
  alerts(): Promise<{ readonly active: readonly NodeAlert[]; readonly recent: readonly Decision[] }>
  /** Trends of the live nodes over the last hour. */
  trends(): Promise<readonly ResourceTrend[]>
}

export const resourcesService = defineService<Resources>('resources')
