import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import type { Operation, OperationState } from '../contract.js'
import { actingPlacement, isAlone } from '../record/placement.js'
import type { KnownNode, OperationOutcome, OperationRecord, ReportedStatus, WorkerNodeInfo } from '../shared/contract.js'
import { couldNotStart, isEligible, placementOf } from '../shared/placement.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import { outcomeOf } from './progress.js'
import { statusesOf } from './state.js'
import { waitUntil } from './wait-until.js'

export type Action =
  | 'create'
  | 'update'
  | 'start'
  | 'stop'
  | 'restart'
  | 'pause'
  | 'resume'
  | 'monitor'
  | 'scale'
  | 'activate'
  | 'candidates'

/** Changes of desired states, and the progress of the nodes in applying them. */
export class Operations {
  readonly #shared: SharedState
  readonly #clock: Clock

  constructor(shared: SharedState, clock: Clock) {
    this.#shared = shared
    this.#clock = clock
  }

  /** Stores the operation of a written change, and publishes the change to every node. */
  async begin(worker: StoredWorker, action: Action): Promise<OperationRecord> {
    const name = worker.record.name
    const [nodes, reported] = await Promise.all([this.#shared.nodes(), this.#shared.statusesOf(name)])
    const operation: OperationRecord = {
      id: randomUUID(),
      worker: name,
      workerId: worker.id,
      action,
      generation: worker.generation,
      targets: targetsOf(worker, nodes, reported),
      desired: worker.desired.state,
      ...(action === 'activate' ? { version: worker.desired.version } : {}),
      at: this.#clock.now(),
    }
    await this.#shared.saveOperation(operation)
    await this.#shared.publishChange(name)
    return operation
  }

  /** Returns the operation once it has ended or the wait times out. */
  waitUntilApplied(operation: OperationRecord, waitMs: number): Promise<Operation> {
    return waitUntil(
      () => this.read(operation),
      ({ state }) => state !== 'pending' || operation.targets.length === 0,
      {
        shared: this.#shared,
        clock: this.#clock,
        waitMs,
        concerns: (message) => message.kind === 'status' && message.status.worker === operation.worker,
      },
    )
  }

  /** Returns an applied operation that changes nothing if the worker already runs on every node that should run it, otherwise undefined. */
  async unchanged(worker: StoredWorker): Promise<Operation | undefined> {
    const name = worker.record.name
    const [nodes, reported] = await Promise.all([this.#shared.nodes(), this.#shared.statusesOf(name)])
    const targets = targetsOf(worker, nodes, reported)
    const runs = targets.every((node) =>
      statusesOf(worker, reported).some(
        (status) => status.node === node && status.state === 'running' && status.generation === worker.generation,
      ),
    )
    if (targets.length === 0 || !runs) return undefined
    return { id: randomUUID(), state: 'applied', generation: worker.generation, targets, applied: targets, failed: [] }
  }

  async find(id: string): Promise<OperationRecord | undefined> {
    return this.#shared.operation(id)
  }

  /** Returns the progress of an operation. The outcome is stored once it has ended, so that later changes on the nodes do not affect it. */
  async read(operation: OperationRecord): Promise<Operation> {
    const { id, generation, outcome, worker } = operation
    const progress = outcome ?? outcomeOf(operation, await this.#shared.statusesOf(worker), await this.#gone(operation))
    const { applied, failed, targets = operation.targets } = progress
    const state = stateOf({ ...operation, targets }, progress)
    if (outcome === undefined && state !== 'pending')
      await this.#shared.saveOperation({ ...operation, outcome: { applied, failed, targets } })
    return { id, state, generation, targets, applied, failed }
  }

  /** The targets that have ended, or whose lease has. */
  async #gone({ targets }: OperationRecord): Promise<ReadonlySet<string>> {
    const missing = (nodes: readonly WorkerNodeInfo[]): readonly string[] => {
      const living = new Set(nodes.filter(({ alive }) => alive).map(({ id }) => id))
      return targets.filter((node) => !living.has(node))
    }
    // What this node knows may be a few seconds old.
    const suspects = missing(this.#shared.known())
    return new Set(suspects.length === 0 ? [] : missing(await this.#shared.nodes()))
  }
}

/** Live nodes that the placement chooses, or the one that runs a worker without clustering, and those that still run the worker. */
function targetsOf(worker: StoredWorker, nodes: readonly KnownNode[], reported: readonly ReportedStatus[]): readonly string[] {
  const { desired, record } = worker
  const placement = actingPlacement(record)
  const known = statusesOf(worker, reported).filter(({ alive }) => alive)
  const busy = known.filter(({ state }) => state === 'running' || state === 'paused' || state === 'stopping')
  const failing = new Set(known.filter(couldNotStart).map(({ node }) => node))
  const draining = new Set(nodes.filter((node) => node.draining).map(({ id }) => id))
  const eligible = new Set(nodes.filter((node) => isEligible(placement, node)).map(({ id }) => id))
  const owners = [...busy, ...known.filter((status) => status.state === 'starting' && !couldNotStart(status))].map(({ node }) => node)
  const owner = isAlone(record) ? owners.find((node) => eligible.has(node)) : undefined
  const chosen = owner === undefined ? placementOf(placement, record.name, nodes, failing) : [owner]
  // A node that drains only finishes its jobs.
  const others = busy.map(({ node }) => node).filter((node) => desired.state === 'stopped' || !draining.has(node))
  return [...new Set([...chosen, ...others])]
}

function stateOf({ action, desired, targets }: OperationRecord, { applied, failed }: OperationOutcome): OperationState {
  // If no node can run the worker, there is nothing to stop.
  if (targets.length === 0) return desired === 'stopped' ? 'applied' : 'pending'
  if (action === 'activate' && failed.length > 0) return 'halted'
  if (applied.length + failed.length < targets.length) return 'pending'
  return failed.length === 0 ? 'applied' : 'failed'
}
