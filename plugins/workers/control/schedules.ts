import type { WorkerRecord } from '../record/record.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'

/** The recurring jobs of a worker, which are kept in its queue. */
export interface WorkerSchedules {
  exist(record: WorkerRecord): Promise<boolean>
  removeAll(record: WorkerRecord): Promise<void>
  /** Brings those in the queue of `from` to that of `to`; false when there are none. */
  moveAll(from: WorkerRecord, to: WorkerRecord): Promise<boolean>
}

export interface MoveParts {
  readonly storeRegistry: StoreRegistry
  readonly schedules: WorkerSchedules
}

/** Most queues that a worker is known to have left. */
const mostLeft = 10

/** The queues that a worker has left when its record is the next one, the last one first: schedules may still be there. */
export function leftQueues(worker: StoredWorker, next: WorkerRecord): Pick<StoredWorker, 'leftQueues'> {
  const { queueName } = worker.record
  if (next.queueName === queueName) return {}
  const left = [queueName, ...(worker.leftQueues ?? [])].filter((queue, at, all) => queue !== next.queueName && all.indexOf(queue) === at)
  return { leftQueues: left.slice(0, mostLeft) }
}

/**
 * Brings schedules from the queues that their worker has left to the one that it was given. It may be given another one, or be
 * removed, at the same time: hence until they are where the worker takes jobs. Safe to repeat.
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
