import type { WorkerRecord } from '../record/record.js'
import type { StoreDirectory } from '../store/directory.js'
import type { StoredWorker } from '../store/store.js'

/** The recurring jobs of a worker, which are kept in its queue. */
export interface WorkerSchedules {
  exist(record: WorkerRecord): Promise<boolean>
  removeAll(record: WorkerRecord): Promise<void>
  /** Brings those in the queue of `from` to that of `to`; false when there are none. */
  moveAll(from: WorkerRecord, to: WorkerRecord): Promise<boolean>
}

export interface MoveParts {
  readonly directory: StoreDirectory
  readonly schedules: WorkerSchedules
}

/**
 * Brings schedules to the queue that their worker was given. It may be given another one, or be removed, at the same time: hence
 * until they are where the worker takes jobs.
 */
export async function moveSchedules({ directory, schedules }: MoveParts, from: WorkerRecord, to: StoredWorker): Promise<void> {
  if (from.queueName === to.record.queueName || !(await schedules.moveAll(from, to.record))) return
  const now = (await directory.find(from.name))?.worker
  if (now?.id !== to.id) await schedules.removeAll(to.record)
  else await moveSchedules({ directory, schedules }, to.record, now)
}
