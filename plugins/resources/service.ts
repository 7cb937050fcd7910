import type { Clock, Manage } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Decisions } from 'zin/plugins/decisions'
import type { ResourceHistory, ResourceHistoryOptions, Resources } from './contract.js'
import type { Control } from './control.js'
import type { ResourceSnapshot } from './snapshot.js'
import type { ResourceStore } from './store/contract.js'
import { trendsOf } from './trends/node-trends.js'

export interface ServiceParts {
  readonly control: Control
  readonly store: ResourceStore
  readonly cluster: Cluster
  readonly decisions: Decisions
  readonly clock: Clock
  readonly intervalMs: number
  readonly manage: Manage
}

const hourMs = 3_600_000
/** Hours for which every snapshot is kept. */
const fineHours = 24
/** Maximum number of snapshots read for the current state and trends of all nodes. */
const mostPoints = 20_000
const recentAlerts = 50

export function createResources(parts: ServiceParts): Resources {
  const { clock, cluster, control, decisions, intervalMs, manage, store } = parts
  const fine = (sinceMs: number): Promise<readonly ResourceSnapshot[]> =>
    store.read({ resolution: 'fine', since: clock.now() - sinceMs, limit: mostPoints })
  const living = (snapshots: readonly ResourceSnapshot[]): readonly ResourceSnapshot[] => {
    const alive = new Set(cluster.nodes().flatMap((node) => (node.alive ? [node.id] : [])))
    return snapshots.filter(({ node }) => alive.has(node))
  }
  const current = async (): Promise<readonly ResourceSnapshot[]> => {
    if (control.stoppedByOperator) return []
    // Allows for late snapshots.
    const recent = living(await fine(3 * intervalMs))
    return recent.filter((one, index) => recent.findIndex(({ node }) => node === one.node) === index)
  }
  return {
    get monitoring() {
      const { reason, run } = control.state
      return { running: run, reason }
    },
    start: () => manage({ action: 'resources.start', target: 'resources:monitoring' }, () => control.choose('started')),
    stop: () => manage({ action: 'resources.stop', target: 'resources:monitoring' }, () => control.choose('stopped')),
    current,
    async history({ hours = fineHours, limit = 3000, node }: ResourceHistoryOptions = {}): Promise<ResourceHistory> {
      const resolution = hours <= fineHours ? 'fine' : 'coarse'
      const since = clock.now() - hours * hourMs
      const found = await store.read({ resolution, since, limit: limit + 1, ...(node === undefined ? {} : { node }) })
      return { resolution, snapshots: found.slice(0, limit), truncated: found.length > limit }
    },
    async alerts() {
      const [snapshots, { decisions: recent }] = await Promise.all([current(), decisions.list({ kind: 'alert', limit: recentAlerts })])
      return { active: snapshots.flatMap(({ alerts, node }) => alerts.map((alert) => ({ node, ...alert }))), recent }
    },
    trends: async () => (control.stoppedByOperator ? [] : trendsOf(living(await fine(hourMs)))),
  }
}
