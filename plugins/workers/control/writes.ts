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

/** Computes the new value of a stored worker; called again after a concurrent change. */
export type Next<T> = (worker: StoredWorker) => T | Promise<T>

/** The step of an action that changes a stored worker. */
export type WorkerStep = ChangeStep<WorkerSnapshot>

/** Maximum attempts of a change while others change the same worker. */
const tries = 10
export const defaultWaitMs = 10_000

/** Writes workers with optimistic concurrency control, and publishes each change to every node. */
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
   * Writes the result of `next`, and waits until it is applied. Throws when every node failed to apply it.
   *
   * @param finish called with the written worker.
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

  /** Writes a change that does not affect what nodes run, so there is nothing to wait for. */
  async note(name: string, next: Next<StoredWorker>, step: WorkerStep): Promise<StoredWorker> {
    const worker = await this.write(name, next, step)
    await this.#parts.shared.publishChange(name)
    return worker
  }

  /** Publishes a written change to every node, and waits until they have applied it. */
  async apply(worker: StoredWorker, action: Action, { waitMs = defaultWaitMs }: OperationOptions): Promise<Operation> {
    const { operations } = this.#parts
    try {
      return await operations.waitUntilApplied(await operations.begin(worker, action), waitMs)
    } catch (error) {
      // The nodes read all workers again once they can reach the shared state.
      if (error instanceof ZinError && error.status === 503) throw workerErrors.WORKER_CHANGE_UNCONFIRMED(worker.record.name, error.message)
      throw error
    }
  }

  /**
   * Writes the result of `next`; undefined leaves the worker unchanged.
   *
   * @param step absent for actions that the app takes by itself.
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
