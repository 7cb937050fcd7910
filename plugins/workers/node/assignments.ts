import { actingPlacement } from '../record/placement.js'
import type { NodeStatus, WorkerNodeInfo } from '../shared/contract.js'
import { couldNotStart, placementOf } from '../shared/placement.js'
import type { StoredWorker } from '../store/contract.js'
import type { Turn } from './stalled-turns.js'

export interface AssignmentView {
  /** This node. */
  readonly me: string
  /** Its status of the worker; undefined: none yet. */
  readonly status: NodeStatus | undefined
  readonly nodes: readonly WorkerNodeInfo[]
}

export interface Assignment {
  /** The nodes that should run the worker. */
  readonly order: readonly string[]
  /** Whether this node is one of them. */
  readonly assigned: boolean
  /** This node could not start the worker, and keeps trying while another one runs it. */
  readonly standby: boolean
  /** This node's turn among the assigned nodes that are not known to fail. */
  readonly stalledTurn: Turn | undefined
}

/** Which nodes should run a worker. Nodes that report that they could not start it come last. */
export class Assignments {
  /** Worker name → id of each failing node → id of the worker. */
  readonly #failing = new Map<string, Map<string, string>>()

  /** Notes the status of a node. True when its failure to start the worker began or ended. */
  note(node: string, status: NodeStatus): boolean {
    const { worker, workerId } = status
    const known = this.#failing.get(worker)?.get(node)
    const failing = couldNotStart(status)
    if (failing === (known === workerId)) return false
    if (!failing) return this.#failing.get(worker)?.delete(node) === true
    const nodes = this.#failing.get(worker) ?? new Map<string, string>()
    this.#failing.set(worker, nodes.set(node, workerId))
    return true
  }

  of({ id, record }: StoredWorker, { me, status, nodes }: AssignmentView): Assignment {
    const { name } = record
    const placement = actingPlacement(record)
    const failed = status !== undefined && couldNotStart(status)
    const others = [...(this.#failing.get(name) ?? [])].filter(([node, worker]) => worker === id && node !== me)
    const failing = new Set([...others.map(([node]) => node), ...(failed ? [me] : [])])
    const order = placementOf(placement, name, nodes, failing)
    const able = order.filter((node) => !failing.has(node))
    return {
      order,
      assigned: order.includes(me),
      standby: failed && placementOf({ ...placement, nodes: 'all' }, name, nodes).includes(me),
      stalledTurn: able.includes(me) ? { index: able.indexOf(me), of: able.length } : undefined,
    }
  }

  forget(worker: string): void {
    this.#failing.delete(worker)
  }
}
