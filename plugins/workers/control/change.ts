import type { Actor } from 'zin/plugins/ops'
import type { CancelOutcome, EnqueueOptions, ScheduleTiming } from '../jobs/types.js'
import type { VersionRecord, WorkerRecord } from '../record/record.js'
import type { Desired, StoredWorker } from '../store/contract.js'

/** What is stored of a worker. */
export interface WorkerSnapshot {
  /** One per creation: a worker that is removed and created again has another one. */
  readonly id: string
  readonly record: WorkerRecord
  readonly versions: readonly VersionRecord[]
  readonly desired: Desired
  /** Grows with every change; from 1. */
  readonly generation: number
}

/** A job that is added or cancelled. Its data is left out: it may be large, and private. */
export interface JobChange {
  /** Null: the queue has not given it one yet. */
  readonly id: string | null
  readonly queue: string
  /** As they were given. */
  readonly options?: EnqueueOptions
  /** Of a cancelled one. */
  readonly outcome?: CancelOutcome
}

/** A job that is added with the jobs that must be done before it. */
export interface FlowChange {
  readonly worker: string
  /** Null: the queue has not given it one yet. */
  readonly id: string | null
  /** Null before it is added. */
  readonly queue: string | null
  readonly options?: EnqueueOptions
  readonly children: readonly FlowChange[]
}

/** A recurring job. Its data is left out. */
export interface ScheduleChange extends ScheduleTiming {
  readonly id: string
}

/** Every management action, and what `before` and `after` of its change show. */
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
  /** Number of the action in this process, the same before it is done and after it. */
  readonly id: number
  readonly action: Action
  /** Name of the worker; of a flow, the one of its last job. */
  readonly worker: string
  /** What of the worker: the version, or the id of the schedule or of the cancelled job. */
  readonly target?: string
  /** Null: it was not there. */
  readonly before: WorkerActions[Action] | null
  /** Null: it is gone. */
  readonly after: WorkerActions[Action] | null
  readonly actor: Actor
  /** Of the request that asked for it, as its response header `x-request-id` says; absent when code did. */
  readonly requestId?: string
}

/**
 * One management action on a worker, as `beforeWorkerChange` and `onWorkerChange` see it. `action` tells what `before` and `after` are.
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
