import { type Clock, ZinError } from 'zin'
import type { Operation, OperationOptions } from '../contract.js'
import { refuse, workerErrors } from '../errors.js'
import { checkName } from '../record/checks.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import type { Located, StoreRegistry } from '../store/registry.js'
import { snapshotOf, type WorkerSnapshot } from './change.js'
import type { ChangeStep } from './changes.js'
import type { Action, Operations } from './operations.js'
import { demandSuccess } from './progress.js'

export interface WritesParts {
  readonly storeRegistry: StoreRegistry
  readonly shared: SharedState
  readonly operations: Operations
  readonly clock: Clock
}

export interface Applied {
  readonly worker: StoredWorker
  readonly operation: Operation
  /** False when there was nothing to do. */
  readonly changed: boolean
}

/** What becomes of a stored worker; asked again when others changed it at the same time. */
export type Next<T> = (worker: StoredWorker) => T | Promise<T>

/** The step of an action that changes what is stored of a worker. */
export type WorkerStep = ChangeStep<WorkerSnapshot>

/** How often a change is tried anew when others change the same worker. */
const tries = 10
export const defaultWaitMs = 10_000

/** Writes workers: each change names the one that it was made from, and every node hears of it. */
export class WorkerWrites {
  readonly #parts: WritesParts

  constructor(parts: WritesParts) {
    this.#parts = parts
  }

  async find(name: string): Promise<Located> {
    const fault = checkName(name)
    if (fault !== undefined) refuse([fault])
    const located = await this.#parts.storeRegistry.find(name)
    if (located === undefined) throw workerErrors.WORKER_NOT_FOUND(name)
    return located
  }

  /**
   * Writes what `next` makes of the worker, and waits until it is applied. Throws when every node failed to.
   *
   * @param finish called with what was written.
   */
  async change(
    name: string,
    action: Action,
    next: Next<StoredWorker>,
    step: WorkerStep,
    options: OperationOptions = {},
    finish?: (worker: StoredWorker) => Promise<void>,
  ): Promise<Applied> {
    const worker = await this.write(name, next, step)
    const [operation] = await Promise.all([this.apply(worker, action, options), finish?.(worker)])
    demandSuccess(worker, operation)
    return { worker, operation, changed: true }
  }

  /** Writes what changes nothing that runs, so there is nothing to wait for. */
  async note(name: string, next: Next<StoredWorker>, step: WorkerStep): Promise<StoredWorker> {
    const worker = await this.write(name, next, step)
    await this.#parts.shared.publishChange(name)
    return worker
  }

  /** Tells every node of what was written, and waits until they have applied it. */
  async apply(worker: StoredWorker, action: Action, { waitMs = defaultWaitMs }: OperationOptions): Promise<Operation> {
    const { operations } = this.#parts
    try {
      return await operations.waitUntilApplied(await operations.begin(worker, action), waitMs)
    } catch (error) {
      // The nodes read all workers once they reach the shared state again.
      if (error instanceof ZinError && error.status === 503) throw workerErrors.WORKER_CHANGE_UNCONFIRMED(worker.record.name, error.message)
      throw error
    }
  }

  /**
   * Writes what `next` makes of the worker; undefined leaves it as it is.
   *
   * @param step absent for what the app does by itself.
   */
  async write(name: string, next: Next<StoredWorker | undefined>, step?: WorkerStep): Promise<StoredWorker> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const { store, worker } = await this.find(name)
      const changed = await next(worker)
      if (changed === undefined) return worker
      const written: StoredWorker = { ...changed, generation: worker.generation + 1, updatedAt: this.#parts.clock.now() }
      const subjects = () => ({ before: snapshotOf(worker), after: snapshotOf(written) })
      await step?.allow(subjects)
      if (!(await store.replace(written))) continue
      step?.done(subjects)
      return written
    }
    throw workerErrors.WORKER_CHANGED(name)
  }
}
