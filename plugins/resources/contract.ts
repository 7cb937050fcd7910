import { defineService } from 'zin'
import type { Decision } from 'zin/plugins/decisions'
import type { ActiveAlert, ResourceSnapshot, ResourceUsage } from './snapshot.js'

/** An active alert of a node. */
export interface NodeAlert extends ActiveAlert {
  /** Id of the node in the cluster. */
  readonly node: string
}

/** The trend of one value of one node over the last hour. */
export interface ResourceTrend {
  readonly node: string
  readonly metric: keyof ResourceUsage
  /** Current value of the trend line, in the unit of the metric. */
  readonly level: number
  /** Change per hour, in the unit of the metric. */
  readonly perHour: number
  /** `steady` means that the values have no clear direction, so `perHour` is noise. */
  readonly direction: 'up' | 'down' | 'steady'
  /** Upper limit of the metric. */
  readonly limit?: number
  /** When the limit will be reached if the trend continues, in ms from now. Absent if the metric does not grow steadily towards a limit. */
  readonly limitInMs?: number
  /** Forecast as text, such as `limit in about 3 h`. */
  readonly forecast?: string
}

export interface ResourceHistory {
  /** `fine`: every snapshot. `coarse`: one point per five minutes. */
  readonly resolution: 'fine' | 'coarse'
  /** Newest first. */
  readonly snapshots: readonly ResourceSnapshot[]
  /** Whether older snapshots were left out. */
  readonly truncated: boolean
}

export interface ResourceHistoryOptions {
  /** 1–720. Up to 24, every snapshot is returned; above, one point per five minutes. Default 24. */
  readonly hours?: number
  /** Id of a node. Default: all. */
  readonly node?: string
  /** 1–10000. Default 3000. */
  readonly limit?: number
}

/**
 * Resource usage of the nodes (processes) of the app: event loop, CPU, memory. All values are per node, shared by its workers.
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
  /** Whether this process is being monitored, with the reason. */
  readonly monitoring: { readonly running: boolean; readonly reason: string }
  /** Starts monitoring on all nodes, permanently and whatever features workers have. 409 RESOURCE_MONITORING_DISABLED. */
  start(): Promise<void>
  /** Stops monitoring on all nodes, including after restarts, until `start`. */
  stop(): Promise<void>
  /** Returns the last snapshot of each live node; empty while monitoring is stopped. */
  current(): Promise<readonly ResourceSnapshot[]>
  history(options?: ResourceHistoryOptions): Promise<ResourceHistory>
  /** Returns active alerts of live nodes, and the decisions about recently raised or cleared ones, newest first. */
  alerts(): Promise<{ readonly active: readonly NodeAlert[]; readonly recent: readonly Decision[] }>
  /** Returns trends of the live nodes over the last hour. */
  trends(): Promise<readonly ResourceTrend[]>
}

export const resourcesService = defineService<Resources>('resources')
