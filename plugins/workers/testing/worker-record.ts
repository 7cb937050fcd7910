import { recordOf } from '../record/make.js'
import type { WorkerRecord } from '../record/record.js'

/** A worker that handles one job at a time, from the queue with its name. */
export function workerRecord(name: string, changes: Partial<WorkerRecord> = {}): WorkerRecord {
  return { ...recordOf({ name, queueName: name }, { concurrency: 1, driver: 'memory' }), ...changes }
}
