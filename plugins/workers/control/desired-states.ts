import { type Clock, messageOf, ZinError } from 'zin'
import type { OperationOptions, ScaleOptions } from '../contract.js'
import { refuse, workerErrors } from '../errors.js'
import { actingPlacement } from '../record/placement.js'
import { scaleProblems } from '../record/scaled.js'
import { isEligible } from '../shared/placement.js'
import type { SharedState } from '../shared/state.js'
import { activationOf, type Desired, type HaltedRollout, type StoredWorker } from '../store/contract.js'
import type { Action, Operations } from './operations.js'
import { stateOf } from './state.js'
import { withRefused } from './versions.js'
import type { Applied, WorkerStep, WorkerWrites } from './writes.js'

export interface DesiredStatesParts {
  readonly writes: WorkerWrites
  readonly operations: Operations
  readonly shared: SharedState
  readonly clock: Clock
}

/** The desired state after a stop. The first of several stops counts. */
export function stoppedBy(desired: Desired, by: string, at: number): Desired {
  return { ...desired, state: 'stopped', by: 'operator', paused: false, stopped: desired.stopped ?? { by, at } }
}

/** Changes the desired state of workers: running or stopped, paused, monitored, and the number of parallel jobs. */
export class DesiredStates {
  readonly #parts: DesiredStatesParts

  constructor(parts: DesiredStatesParts) {
    this.#parts = parts
  }

  /** Starts a worker. Changes nothing when it already runs on every node that should run it. */
  async start(name: string, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    const { operations, writes } = this.#parts
    const { worker } = await writes.find(name)
    const { state, paused } = worker.desired
    const running = state === 'running' && !paused && worker.record.activeStatus ? await operations.unchanged(worker) : undefined
    if (running !== undefined) return { worker, operation: running, changed: false }
    return this.#setDesired(
      name,
      'start',
      (desired, worker) => this.#wanted({ ...desired, starts: desired.starts + 1 }, worker),
      step,
      options,
    )
  }

  stop(name: string, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    return this.#parts.writes.change(
      name,
      'stop',
      ({ desired: { awaitsNode: _, ...desired }, ...worker }) => ({
        ...worker,
        desired: stoppedBy(desired, step.actor.id, this.#parts.clock.now()),
      }),
      step,
      options,
    )
  }

  restart(name: string, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    return this.#setDesired(
      name,
      'restart',
      (desired, worker) => this.#wanted({ ...desired, restarts: desired.restarts + 1 }, worker),
      step,
      options,
    )
  }

  pause(name: string, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    return this.#setPaused(name, true, step, options)
  }

  resume(name: string, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    return this.#setPaused(name, false, step, options)
  }

  monitor(name: string, on: boolean, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    return this.#parts.writes.change(
      name,
      'monitor',
      (worker) => ({ ...worker, desired: { ...worker.desired, monitored: on } }),
      step,
      options,
    )
  }

  /** @param concurrency null: the configured number. */
  async scale(name: string, concurrency: number | null, step: WorkerStep, { reason = '', ...options }: ScaleOptions): Promise<Applied> {
    refuse(scaleProblems(concurrency, reason))
    const at = new Date(this.#parts.clock.now()).toISOString()
    return this.#parts.writes.change(
      name,
      'scale',
      ({ record, ...worker }) => {
        const { scaled: _, ...unscaled } = record
        return { ...worker, record: concurrency === null ? unscaled : { ...unscaled, scaled: { concurrency, reason, at } } }
      },
      step,
      options,
    )
  }

  /** Sets the desired state of a worker that auto-starts at boot to running, unless an operator has stopped it in the meantime. */
  applyAutoStart(worker: StoredWorker): Promise<StoredWorker> {
    return this.#parts.writes.write(worker.record.name, (stored) =>
      stored.desired.by === 'operator' || stored.desired.state === 'running'
        ? undefined
        : { ...stored, desired: { ...stored.desired, state: 'running' } },
    )
  }

  /** Notes that a node applies a start that no node could apply at first, so that later boots follow the auto-start rule again. */
  async takeStart({ id, record }: StoredWorker): Promise<StoredWorker> {
    const worker = await this.#parts.writes.write(record.name, (stored) => {
      if (stored.id !== id || stored.desired.awaitsNode === undefined) return undefined
      const { awaitsNode: _, ...desired } = stored.desired
      return { ...stored, desired }
    })
    await this.#parts.shared.publishChange(record.name)
    return worker
  }

  /** Notes that a node runs the version that was activated last. */
  async noteTried(worker: StoredWorker): Promise<void> {
    const { id, record } = worker
    await this.#parts.writes.write(record.name, (stored) => {
      if (stored.id !== id || stored.desired.untried === undefined || activationOf(stored) !== activationOf(worker)) return undefined
      const { untried: _, ...desired } = stored.desired
      return { ...stored, desired }
    })
    await this.#parts.shared.publishChange(record.name)
  }

  /** The desired state after a start or restart. */
  async #wanted({ awaitsNode: _, stopped: _stopped, ...desired }: Desired, { record }: StoredWorker): Promise<Desired> {
    const placement = actingPlacement(record)
    const nobody = !(await this.#parts.shared.nodes()).some((node) => isEligible(placement, node))
    return { ...desired, state: 'running', by: 'operator', paused: false, ...(nobody && { awaitsNode: true }) }
  }

  /** Stores that the rollout of the desired version halted on a node. A later activation is not affected. */
  async halt({ id, record, ...worker }: StoredWorker, node: string, error: unknown): Promise<void> {
    const activation = activationOf(worker)
    const { code } = error instanceof ZinError ? error : { code: 'WORKER_FAILED' }
    const at = this.#parts.clock.now()
    const halted: HaltedRollout = { activation, node, code, message: messageOf(error), at }
    await this.#parts.writes.write(record.name, (stored) =>
      stored.id !== id || stored.halted !== undefined || activationOf(stored) !== activation
        ? undefined
        : { ...withRefused(stored, stored.desired.version, { by: 'workers', reason: halted.message, at }), halted },
    )
    await this.#parts.shared.publishChange(record.name)
  }

  #setDesired(
    name: string,
    action: Action,
    next: (desired: Desired, worker: StoredWorker) => Desired | Promise<Desired>,
    step: WorkerStep,
    options?: OperationOptions,
  ): Promise<Applied> {
    return this.#parts.writes.change(
      name,
      action,
      async (worker) => {
        if (!worker.record.activeStatus) throw workerErrors.WORKER_INACTIVE(name)
        return { ...worker, desired: await next(worker.desired, worker) }
      },
      step,
      options,
    )
  }

  #setPaused(name: string, paused: boolean, step: WorkerStep, options?: OperationOptions): Promise<Applied> {
    const next = async (desired: Desired, worker: StoredWorker): Promise<Desired> => {
      if (desired.state === 'stopped') throw workerErrors.WORKER_STOPPED(name, 'stopped')
      const state = stateOf(worker, await this.#parts.shared.statusesOf(name))
      if (state === 'FAILED' || state === 'stopped') throw workerErrors.WORKER_STOPPED(name, state)
      return { ...desired, paused }
    }
    return this.#setDesired(name, paused ? 'pause' : 'resume', next, step, options)
  }
}
