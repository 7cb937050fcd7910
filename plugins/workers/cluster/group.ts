import type { ReportedStatus } from './cluster.js'

/** Statuses by the name of their worker. */
export function byWorker(statuses: Iterable<ReportedStatus>): ReadonlyMap<string, readonly ReportedStatus[]> {
  const groups = new Map<string, ReportedStatus[]>()
  for (const status of statuses) {
    const group = groups.get(status.worker)
    if (group === undefined) groups.set(status.worker, [status])
    else group.push(status)
  }
  return groups
}
