import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { Actor } from 'zin/plugins/ops'
import type { Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { BulkAction, JobFilter } from './filter.js'
import type { UndoWindow } from './undo.js'

/** An operation on the jobs of a queue. */
export interface BulkOperation {
  readonly id: string
  /** `delete` deletes a single job; `undo` reverts a delete or purge; `flow.retry` retries a whole flow. */
  readonly action: BulkAction | 'delete' | 'undo' | 'flow.retry'
  readonly queue: string
  readonly filter: JobFilter
  /** `interrupted`: its process has ended; completed steps are not rolled back. */
  readonly state: 'running' | 'completed' | 'cancelled' | 'failed' | 'interrupted'
  /** Jobs in the states of the filter at the start; for an `undo`, the deleted jobs. */
  readonly total: number
  readonly looked: number
  readonly changed: number
  /** Jobs of flows in other queues, or that do not match the filter, which were changed with the others. */
  readonly related?: number
  /**
   * Skipped jobs: for a delete, those that other jobs or a schedule depend on; for an undo, those whose id is taken, and those in `lost`; else
   * those that could not be changed.
   */
  readonly left: number
  /** For an undo: jobs that had been deleted permanently. */
  readonly lost?: number
  /** For `flow.retry`: `<queue>:<id>` of the flow's root. */
  readonly flow?: string
  /** How to undo a delete; null for other operations and permanent deletes. */
  readonly undo: UndoWindow | null
  readonly error: string | null
  readonly actor: Actor
  /** ISO 8601. */
  readonly startedAt: string
  readonly updatedAt: string
}

export type NewOperation = Pick<BulkOperation, 'id' | 'action' | 'queue' | 'filter' | 'total' | 'undo' | 'actor' | 'lost' | 'flow'>

const keptMs = 86_400_000
/** A running operation that has not been saved for this long has lost its process. */
const lostMs = 30_000
const keyOf = (id: string): string => `monitor:operation:${id}`
const cancelKeyOf = (id: string): string => `monitor:operation-cancel:${id}`

/** Stores operations for all processes, for a day. */
export class OperationStore {
  readonly #kv: Kv
  readonly #clock: Clock

  constructor(kv: Kv, clock: Clock) {
    this.#kv = kv
    this.#clock = clock
  }

  begun(operation: NewOperation): BulkOperation {
    const now = new Date(this.#clock.now()).toISOString()
    const { lost = 0 } = operation
    return { ...operation, state: 'running', looked: lost, changed: 0, left: lost, error: null, startedAt: now, updatedAt: now }
  }

  changed(operation: BulkOperation, changes: Partial<BulkOperation>): BulkOperation {
    return { ...operation, ...changes, updatedAt: new Date(this.#clock.now()).toISOString() }
  }

  async save(operation: BulkOperation): Promise<void> {
    await this.#kv.set(keyOf(operation.id), JSON.stringify(operation), { ttlMs: keptMs })
  }

  /** Returns a stored operation. 404 QUEUE_OPERATION_NOT_FOUND. */
  async get(id: string, scope: Scope): Promise<BulkOperation> {
    const text = await this.#kv.get(keyOf(id))
    return this.shown(text === null ? undefined : (JSON.parse(text) as BulkOperation), id, scope)
  }

  /** Marks a lost operation as interrupted. 404 QUEUE_OPERATION_NOT_FOUND if it is missing or the caller cannot see it. */
  shown(operation: BulkOperation | undefined, id: string, scope: Scope): BulkOperation {
    if (operation === undefined || !scope.sees(operation.queue)) throw monitorErrors.QUEUE_OPERATION_NOT_FOUND(id)
    const isLost = operation.state === 'running' && this.#clock.now() - Date.parse(operation.updatedAt) > lostMs
    return isLost ? { ...operation, state: 'interrupted' } : operation
  }

  async askToCancel(id: string): Promise<void> {
    await this.#kv.set(cancelKeyOf(id), '1', { ttlMs: keptMs })
  }

  async isCancelled(id: string): Promise<boolean> {
    return (await this.#kv.get(cancelKeyOf(id))) !== null
  }
}
