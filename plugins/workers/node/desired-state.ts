import { actingConcurrency } from '../record/scaled.js'
import { activationOf, type StoredWorker } from '../store/contract.js'

/** The state of a worker that this node should reach. */
export interface DesiredState {
  readonly generation: number
  readonly run: boolean
  readonly paused: boolean
  readonly starts: number
  readonly restarts: number
  readonly version: string
  /** Differs for each activation of a version. */
  readonly activation: string
  readonly concurrency: number
  /** Equal for records that result in the same consumer. */
  readonly consumerKey: string
}

export function desiredStateOf(worker: StoredWorker, { run, version }: Pick<DesiredState, 'run' | 'version'>): DesiredState {
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
