import type { Actor } from 'zin/plugins/ops'
import type { CancelOutcome, EnqueueOptions, ScheduleTiming } from '../jobs/types.js'
import type { VersionRecord, WorkerRecord } from '../record/record.js'
import type { Desired, StoredWorker } from '../store/contract.js'

/** The stored state of a worker. */
export interface WorkerSnapshot {
  /** Unique per creation: a worker that is removed and created again gets a new one. */
  readonly id: string
  readonly record: WorkerRecord
  readonly versions: readonly VersionRecord[]
  readonly desired: Desired
  /** Increases with every change, from 1. */
  readonly generation: number
}

/** A job that is added or cancelled. Its data is omitted because it may be large and private. */
export interface JobChange {
  /** Null before the queue has assigned one. */
  readonly id: string | null
  readonly queue: string
  /** As requested. */
  readonly options?: EnqueueOptions
  /** Only of a cancelled job. */
  readonly outcome?: CancelOutcome
}

/** A job that is added together with the jobs that must complete before it. */
export interface FlowChange {
  readonly worker: string
  /** Null before the queue has assigned one. */
  readonly id: string | null
  /** Null before the job is added. */
  readonly queue: string | null
  readonly options?: EnqueueOptions
  readonly children: readonly FlowChange[]
}

/** A recurring job. Its data is omitted. */
export interface ScheduleChange extends ScheduleTiming {
  readonly id: string
}

/** Every management action, with the type of `before` and `after` of its change. */
export interface WorkerActions {
  create: WorkerSnapshot
  update: WorkerSnapshot
  remove: WorkerSnapshot
  start: WorkerSnapshot
  stop: WorkerSnapshot
  restart: WorkerSnapshot
  pause: WorkerSnapshot
  resume: WorkerSnapshot
  scale: WorkerSnapshot
  'monitoring.start': WorkerSnapshot
  'monitoring.stop': WorkerSnapshot
  'version.register': WorkerSnapshot
  'version.activate': WorkerSnapshot
  'version.candidates': WorkerSnapshot
  'version.refuse': WorkerSnapshot
  'job.add': JobChange
  'job.cancel': JobChange
  'flow.add': FlowChange
  'schedule.put': ScheduleChange
  'schedule.remove': ScheduleChange
}

export type WorkerAction = keyof WorkerActions

/** One management action on a worker. */
export interface WorkerChangeOf<Action extends WorkerAction> {
  /** Number of the action in this process; the same in all hooks that it triggers. */
  readonly id: number
  readonly action: Action
  /** Name of the worker; for a flow, the worker of its root job. */
  readonly worker: string
  /** The affected part of the worker: a version, or the id of a schedule or of a cancelled job. */
  readonly target?: string
  /** Null: it did not exist. */
  readonly before: WorkerActions[Action] | null
  /** Null: it no longer exists. */
  readonly after: WorkerActions[Action] | null
  readonly actor: Actor
  /** Id of the request, as in its response header `x-request-id`; absent when the action did not come from a request. */
  readonly requestId?: string
}

/**
 * One management action on a worker, as `beforeWorkerChange` and `onWorkerChange` receive it. `action` determines the type of `before` and
 * `after`.
 *
 * @example
 * hooks.on('onWorkerChange', (change) => {
 *   if (change.action === 'scale') log.info({ by: change.actor.id }, `${change.worker}: ${change.after?.record.scaled?.reason}`)
 * })
 */
export type WorkerChange = { [Action in WorkerAction]: WorkerChangeOf<Action> }[WorkerAction]

export function snapshotOf({ id, record, versions, desired, generation }: StoredWorker): WorkerSnapshot {
  return { id, record, versions, desired, generation }
}
