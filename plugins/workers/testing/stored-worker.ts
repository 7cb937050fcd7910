import { randomUUID } from 'node:crypto'
import { firstVersionOf, recordOf } from '../record/make.js'
import type { CreateWorker } from '../record/record.js'
import type { Desired, StoredWorker } from '../store/contract.js'

export const createdAt = 1_900_000_000_123

/** The desired state of a worker that was never started. */
export function desired(changes: Partial<Desired> = {}): Desired {
  return {
    state: 'stopped',
    by: 'rule',
    paused: false,
    starts: 0,
    restarts: 0,
    version: '1.0.0',
    previousVersion: null,
    monitored: null,
    ...changes,
  }
}

/** A stored worker with two versions. */
export function stored(name: string, changes: Partial<StoredWorker> = {}, input: Partial<CreateWorker> = {}): StoredWorker {
  const created: CreateWorker = { name, queueName: 'queue', processor: 'a.ts', features: { metrics: true }, ...input }
  return {
    id: randomUUID(),
    record: recordOf(created, { concurrency: 5, driver: 'memory' }),
    versions: [firstVersionOf(created, createdAt), { ...firstVersionOf(created, createdAt), version: '1.0.1', description: 'größer 🎈' }],
    desired: desired(),
    generation: 1,
    createdAt,
    updatedAt: 1_900_000_000_456,
    ...changes,
  }
}
