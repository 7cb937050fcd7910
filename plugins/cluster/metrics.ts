import type { MetricSample } from 'zin'
import type { ClusterNode } from './contract.js'

/** Counts of the nodes as last read; no round trip. */
export function clusterMetrics(nodes: readonly ClusterNode[]): readonly MetricSample[] {
  const live = nodes.filter(({ alive }) => alive).length
  const sample = { name: 'zin_cluster_nodes', help: 'Nodes of the app as last read by this process, by state', type: 'gauge' as const }
  return [
    { ...sample, value: live, labels: { state: 'alive' } },
    { ...sample, value: nodes.length - live, labels: { state: 'lost' } },
  ]
}
