import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, definePlugin, type Logger, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { chooseStore } from './choose-store.js'
import { clusterService, type NodeInfo } from './contract.js'
import { clusterErrors } from './errors.js'
import { clusterMetrics } from './metrics.js'
import { createCluster as createClusterTables, tables } from './migrations/0001-create-cluster.js'
import { createCluster, type OwnedCluster } from './service.js'
import { clusterSettings } from './settings.js'
import { MemoryHub, memoryStore } from './store/memory.js'

export type {
  Cluster,
  ClusterNode,
  Leadership,
  LeasedNode,
  MessageKind,
  NodeInfo,
  NodeLabels,
  NodesChange,
  RoleListener,
} from './contract.js'
export { clusterService, defineMessage } from './contract.js'
export type { OwnedCluster } from './service.js'
export { MemoryHub } from './store/memory.js'

const sweepMs = 60_000
const sweepRole = 'cluster.sweep'

/** The nodes of an app with leases, messages to all of them, and leader roles. */
export const cluster = definePlugin({
  name: 'cluster',
  version: '1.0.0',
  description: 'The nodes of the app with leases, messages to all of them, and leader roles',
  uses: { database: optional(databaseService), kv: optional(kvService) },
  provides: [clusterService],
  errors: clusterErrors,
  settings: clusterSettings,
  setup(ctx) {
    const { clock, host, log, settings } = ctx
    const store = chooseStore(ctx)
    const node: Omit<NodeInfo, 'labels'> = {
      id: `${hostname().slice(0, 64)}:${process.pid}:${randomBytes(4).toString('hex')}`,
      host: hostname(),
      pid: process.pid,
      startedAt: clock.now(),
    }
    const heartbeatMs = settings.CLUSTER_HEARTBEAT_MS
    const service = createCluster({ store, node, clock, log, leaseMs: heartbeatMs * 3, shutdownLeftMs: () => host.shutdownLeftMs })
    if (store.kind === 'sql') ctx.migration(createClusterTables)
    ctx.provide(clusterService, service)
    ctx.describe(() => store.kind)
    ctx.hooks.on('collectMetrics', () => clusterMetrics(service.nodes()))
    ctx.hooks.on('collectData', () => ({
      tables,
      async users() {
        const running = (await service.readNodes()).filter((one) => one.alive && !hasEnded(one))
        if (running.length === 0) return undefined
        const seconds = Math.ceil(Math.max(...running.map(({ leaseMs }) => leaseMs)) / 1000)
        const ids = running.map(({ id }) => id)
        return `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ' and others' : ''} (a process that was killed counts for ${seconds} s more)`
      },
    }))
    ctx.onReady(async () => {
      await service.open()
      const sweeper = service.lead(sweepRole)
      ctx.every(heartbeatMs, () => service.heartbeat())
      ctx.every(sweepMs, async () => {
        if (sweeper.leads && (await service.isCurrent(sweepRole, sweeper.epoch))) await service.sweep()
      })
    })
    ctx.onStop(() => service.close())
  },
})

/** Whether a node was a process of this machine that no longer exists. */
function hasEnded({ host, pid }: NodeInfo): boolean {
  if (host !== hostname()) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

export interface LocalClusterOptions {
  readonly node: Pick<NodeInfo, 'id'> & Partial<NodeInfo>
  readonly clock: Clock
  readonly log: Logger
  /** Default 15000. */
  readonly leaseMs?: number
  /** Nodes of one hub form a cluster. Default: a new hub, for a cluster of one node. */
  readonly hub?: MemoryHub
}

/** A cluster within one process, for tests and for components that must not coordinate with other nodes. Its owner opens it, calls `heartbeat` and closes it. */
export function localCluster({ node, clock, log, leaseMs = 15_000, hub = new MemoryHub() }: LocalClusterOptions): OwnedCluster {
  const info = { host: hostname(), pid: process.pid, startedAt: clock.now(), ...node }
  return createCluster({
    store: memoryStore({ clock, hub }),
    node: info,
    clock,
    log,
    leaseMs,
  })
}
