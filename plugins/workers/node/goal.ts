import { actingConcurrency } from '../record/scaled.js'
import { activationOf, type StoredWorker } from '../store/contract.js'
import type { Goal } from './plan.js'

/** What a process should do for a stored worker. */
export function goalOf(worker: StoredWorker, { run, version }: { readonly run: boolean; readonly version: string }): Goal {
  const { record, desired } = worker
  return {
    generation: worker.generation,
    run,
    paused: desired.paused,
    starts: desired.starts,
    restarts: desired.restarts,
    version,
    activation: activationOf(worker),
    concurrency: actingConcurrency(record),
    consumerKey: JSON.stringify([record.queueName, record.rateLimit, record.isolation]),
  }
}
