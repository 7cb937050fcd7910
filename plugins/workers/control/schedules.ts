import type { WorkerRecord } from '../record/record.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'

/** The recurring jobs of a worker, which are stored in its queue. */
export interface WorkerSchedules {
  exist(record: WorkerRecord): Promise<boolean>
  removeAll(record: WorkerRecord): Promise<void>
  /** Moves the schedules from the queue of `from` to that of `to`; false when there were none. */
  moveAll(from: WorkerRecord, to: WorkerRecord): Promise<boolean>
}

export interface MoveParts {
  readonly storeRegistry: StoreRegistry
  readonly schedules: WorkerSchedules
}

/** Maximum number of previous queues that are stored of a worker. */
const mostLeft = 10

/** The previous queues of a worker after its record becomes `next`, most recent first. They may still contain schedules. */
export function leftQueues(worker: StoredWorker, next: WorkerRecord): Pick<StoredWorker, 'leftQueues'> {
  const { queueName } = worker.record
  if (next.queueName === queueName) return {}
  const left = [queueName, ...(worker.leftQueues ?? [])].filter((queue, at, all) => queue !== next.queueName && all.indexOf(queue) === at)
  return { leftQueues: left.slice(0, mostLeft) }
}

/**
 * Moves schedules from the previous queues of their worker to its current one. The worker may get another queue or be removed at the same
 * time, so this repeats until the schedules are in the queue from which the worker takes jobs. Idempotent.
 */
export async function moveSchedules(parts: MoveParts, to: StoredWorker): Promise<void> {
  const { storeRegistry, schedules } = parts
  let moved = false
  for (const queueName of to.leftQueues ?? []) {
    if (await schedules.moveAll({ ...to.record, queueName }, to.record)) moved = true
  }
  if (!moved) return
  const now = (await storeRegistry.find(to.record.name))?.worker
  if (now?.id !== to.id) await schedules.removeAll(to.record)
  else if (now.record.queueName !== to.record.queueName) await moveSchedules(parts, now)
}
