import { actingPlacement } from '../record/placement.js'
import type { NodeStatus, WorkerNodeInfo } from '../shared/contract.js'
import { couldNotStart, placementOf } from '../shared/placement.js'
import type { StoredWorker } from '../store/contract.js'

export interface PlaceView {
  /** This process. */
  readonly me: string
  /** What it says of the worker; undefined: nothing yet. */
  readonly status: NodeStatus | undefined
  readonly nodes: readonly WorkerNodeInfo[]
}

export interface Place {
  /** The processes that should run the worker. */
  readonly order: readonly string[]
  readonly placed: boolean
  /** Of the processes that should run the worker and are not known to fail, this one is first. */
  readonly first: boolean
  /** This process could not start it, and stays ready to try again while another runs it. */
  readonly waits: boolean
}

/** Processes that could not start a worker, as far as they say: the placement prefers others. */
export class FailingNodes {
  /** Node → id of the worker, by the worker's name. */
  readonly #nodes = new Map<string, Map<string, string>>()

  /** True when that is news. */
  note(node: string, status: NodeStatus): boolean {
    const { worker, workerId } = status
    const known = this.#nodes.get(worker)?.get(node)
    const failing = couldNotStart(status)
    if (failing === (known === workerId)) return false
    if (!failing) return this.#nodes.get(worker)?.delete(node) === true
    const nodes = this.#nodes.get(worker) ?? new Map<string, string>()
    this.#nodes.set(worker, nodes.set(node, workerId))
    return true
  }

  place({ id, record }: StoredWorker, { me, status, nodes }: PlaceView): Place {
    const { name } = record
    const placement = actingPlacement(record)
    const failed = status !== undefined && couldNotStart(status)
    const told = [...(this.#nodes.get(name) ?? [])].filter(([node, worker]) => worker === id && node !== me)
    const failing = new Set([...told.map(([node]) => node), ...(failed ? [me] : [])])
    const order = placementOf(placement, name, nodes, failing)
    const waits = failed && placementOf({ ...placement, nodes: 'all' }, name, nodes).includes(me)
    return { order, placed: order.includes(me), first: order.find((id) => !failing.has(id)) === me, waits }
  }

  forget(worker: string): void {
    this.#nodes.delete(worker)
  }
}
