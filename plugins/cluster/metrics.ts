import type { MetricSample } from 'zin'
import type { ClusterNode } from './contract.js'

/** The nodes as this one knows them; no round trip. */
export function clusterMetrics(nodes: readonly ClusterNode[]): readonly MetricSample[] {
  const live = nodes.filter(({ alive }) => alive).length
  const sample = { name: 'zin_cluster_nodes', help: 'Nodes of the app as this process knows them, by state', type: 'gauge' as const }
  return [
    { ...sample, value: live, labels: { state: 'alive' } },
    { ...sample, value: nodes.length - live, labels: { state: 'lost' } },
  ]
}
