import type { ReportedStatus } from '../cluster/cluster.js'
import type { StoredWorker } from '../store/store.js'

/**
 * The version that a process should give new jobs to. A new version is rolled out one process after another in the order of the
 * placement, with no leader: a process that runs the version before takes its turn when every process ahead of it runs the new one,
 * or nothing. One that could not take it stops the rollout there; activating any version, also this one, begins anew.
 *
 * @param current what this process runs now; undefined when it runs nothing, and then it begins with the new one.
 */
export function versionToRun(
  worker: StoredWorker,
  me: string,
  current: string | undefined,
  order: readonly string[],
  statuses: readonly ReportedStatus[],
): string {
  const { version } = worker.desired
  if (current === undefined || current === version) return version
  const ahead = order.slice(0, Math.max(0, order.indexOf(me)))
  const done = ahead.every((node) =>
    statuses.some(
      (status) =>
        status.node === node && status.alive && status.workerId === worker.id && (status.version === version || status.version === null),
    ),
  )
  return done ? version : current
}
