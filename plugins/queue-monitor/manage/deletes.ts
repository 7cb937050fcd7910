import { randomUUID } from 'node:crypto'
import type { Clock, Manage } from 'zin'
import type { ChangedJob, Queues } from 'zin/plugins/queues'
import { demandFlow } from '../access/flow.js'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import { findJob } from '../jobs/find.js'
import type { ActionResult, JobActions } from './actions.js'
import type { OperationStore } from './operation.js'
import { type UndoWindow, undoMs, windowOf } from './undo.js'

export interface DeletesOptions {
  readonly queues: Queues
  readonly actions: JobActions
  readonly store: OperationStore
  readonly clock: Clock
  readonly manage: Manage
}

/** The result of deleting a job. */
export interface DeleteResult extends ActionResult {
  /** Id of the operation for an undo; null if the delete is permanent. */
  readonly operation: string | null
  readonly undo: UndoWindow | null
  readonly message?: string
}

/** Deletes single jobs. */
export class Deletes {
  readonly #options: DeletesOptions

  constructor(options: DeletesOptions) {
    this.#options = options
  }

  /**
   * Deletes a job so that it can be restored for a limited time. With `now`, deletes it permanently, together with the waiting jobs below it,
   * which may be in any queue; a job that its parent waits for fails first. 409 JOB_STATE_CONFLICT.
   */
  async remove(id: string, queue: string | undefined, { now }: { readonly now: boolean }, scope: Scope): Promise<DeleteResult> {
    demand(scope, 'write')
    const { actions, manage, queues } = this.#options
    const { job, state } = await findJob(queues, id, queue, scope)
    const conflict = (what: string): Error => monitorErrors.JOB_STATE_CONFLICT(job.id ?? '', job.queueName, state, what)
    if (state === 'active') throw conflict('a running job cannot be deleted; cancel it first')
    await demandFlow(queues, job, scope)
    const action = { action: 'job.delete', target: `job:${job.queueName}/${job.id}`, actor: scope.actor }
    let others: readonly ChangedJob[] = []
    const undo = await manage(action, async () => {
      if (!now) return this.#undoable(job.queueName, job.id ?? '', scope, conflict)
      const { jobs, refused } = await queues.remove(job.queueName, job.id ?? '')
      if (refused === 'scheduled') throw conflict('it is the next job of a schedule; remove the schedule instead')
      if (refused === 'tied')
        throw conflict('its parent waits for it, and the options of the flow do not let it fail; delete the parent first')
      if (jobs === undefined) throw conflict('its state has just changed')
      others = jobs.slice(1)
      return undefined
    })
    const result = await actions.done('delete', job, scope, 'deleted', others)
    if (undo === undefined) return { ...result, operation: null, undo: null }
    const { operation, window } = undo
    if (window.jobs > 0) return { ...result, operation, undo: window }
    return { ...result, operation: null, undo: null, message: 'It was permanently deleted: the queue has no room for more restorable jobs' }
  }

  async #undoable(queue: string, id: string, scope: Scope, conflict: (what: string) => Error) {
    const { clock, queues, store } = this.#options
    const operation = randomUUID()
    const window = windowOf(operation, clock.now())
    const outcome = await queues.deleteJob(queue, id, { batch: operation, ms: undoMs })
    if (outcome === 'tied') {
      throw conflict(
        'a flow or schedule depends on it, so deleting it could not be undone; use now=true to delete a job of a flow permanently',
      )
    }
    if (outcome === 'changed') throw conflict('its state has just changed')
    const restorable = outcome === 'restorable' ? 1 : 0
    const undo = { ...window, jobs: restorable, final: 1 - restorable }
    const begun = store.begun({ id: operation, action: 'delete', queue, filter: {}, total: 1, undo, actor: scope.actor })
    await store.save({ ...begun, state: 'completed', looked: 1, changed: 1 })
    return { operation, window: undo }
  }
}
