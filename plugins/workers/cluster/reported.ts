import type { Cluster, ReportedStatus } from './cluster.js'

/** What processes say of one worker, or of an earlier one of its name. */
export async function reportedOn(cluster: Cluster, worker: string): Promise<readonly ReportedStatus[]> {
  return (await cluster.statuses([worker])).get(worker) ?? []
}
