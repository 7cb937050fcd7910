import { actingPlacement } from '../record/placement.js'
import type { NodeStatus, WorkerNodeInfo } from '../shared/contract.js'
import { couldNotStart, isEligible, placementOf } from '../shared/placement.js'
import type { StoredWorker } from '../store/contract.js'
import type { Turn } from './stalled-turns.js'

export interface AssignmentView {
  /** This node. */
  readonly me: string
  /** This node's status of the worker; undefined before the first one. */
  readonly status: NodeStatus | undefined
  readonly nodes: readonly WorkerNodeInfo[]
  /** Whether this node is the one that runs a worker without clustering: it keeps the worker while it can run it. */
  readonly owns: boolean
}

export interface Assignment {
  /** The nodes that should run the worker. */
  readonly order: readonly string[]
  /** Whether this node is one of them. */
  readonly assigned: boolean
  /** Whether this node could not start the worker and keeps trying while another node runs it. */
  readonly standby: boolean
  /** This node's turn among the assigned nodes that are not known to fail. */
  readonly stalledTurn: Turn | undefined
}

/** Chooses the nodes that should run a worker. Nodes that failed to start it come last. */
export class Assignments {
  /** Worker name → id of failing node → id of the worker. */
  readonly #failing = new Map<string, Map<string, string>>()
  /** The failing nodes that the cluster did not know at the last call of {@link prune}. */
  #unknown: ReadonlySet<string> = new Set()

  /** Records the status of a node. Returns whether it began, or ceased, to fail to start the worker. */
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

  of({ id, record }: StoredWorker, { me, status, nodes, owns }: AssignmentView): Assignment {
    const { name } = record
    const placement = actingPlacement(record)
    const failed = status !== undefined && couldNotStart(status)
    const others = [...(this.#failing.get(name) ?? [])].filter(([node, worker]) => worker === id && node !== me)
    const failing = new Set([...others.map(([node]) => node), ...(failed ? [me] : [])])
    const eligible = nodes.some((node) => node.id === me && isEligible(placement, node))
    const order = owns && eligible && !failed ? [me] : placementOf(placement, name, nodes, failing)
    const able = order.filter((node) => !failing.has(node))
    return {
      order,
      assigned: order.includes(me),
      standby: failed && eligible,
      stalledTurn: able.includes(me) ? { index: able.indexOf(me), of: able.length } : undefined,
    }
  }

  forget(worker: string): void {
    this.#failing.delete(worker)
  }

  /**
   * Forgets nodes that the cluster knows neither now nor knew at the last call, so call it rarely. A node that is unknown for a short time
   * may have just joined, or join again after the store was reset; all nodes must still know that it fails.
   */
  prune(nodes: readonly WorkerNodeInfo[]): void {
    const known = new Set(nodes.map(({ id }) => id))
    const unknown = new Set([...this.#failing.values()].flatMap((failing) => [...failing.keys()]).filter((node) => !known.has(node)))
    for (const [worker, failing] of this.#failing) {
      for (const node of failing.keys()) if (unknown.has(node) && this.#unknown.has(node)) failing.delete(node)
      if (failing.size === 0) this.#failing.delete(worker)
    }
    this.#unknown = unknown
  }
}
