import type { ClusterNode, NodesChange } from './contract.js'
import type { NodeList, Renewal } from './store/contract.js'

/** The known nodes. A returned list is never modified. */
export class Members {
  #nodes: readonly ClusterNode[] = []
  #version = -1

  get nodes(): readonly ClusterNode[] {
    return this.#nodes
  }

  /** The version of the list read last. */
  get version(): number {
    return this.#version
  }

  take({ nodes, version }: NodeList): void {
    this.#nodes = nodes.map(({ leaseMs: _, leaseUntil: _until, ...node }) => node)
    this.#version = version
  }

  /** Records which leases expired, and which were renewed after all. */
  late(late: Renewal['late']): void {
    const ended = new Set(late.filter(({ leaseMs }) => leaseMs <= 0).map(({ id }) => id))
    if (this.#nodes.every(({ alive, id }) => alive === !ended.has(id))) return
    this.#nodes = this.#nodes.map((node) => ({ ...node, alive: !ended.has(node.id) }))
  }

  /** The difference to an earlier list; undefined when nothing changed. */
  since(before: readonly ClusterNode[]): NodesChange | undefined {
    if (before === this.#nodes) return undefined
    const [then, now] = [living(before), living(this.#nodes)]
    return {
      nodes: this.#nodes,
      joined: [...now].filter((id) => !then.has(id)),
      left: [...then].filter((id) => !now.has(id)),
    }
  }
}

function living(nodes: readonly ClusterNode[]): ReadonlySet<string> {
  return new Set(nodes.filter(({ alive }) => alive).map(({ id }) => id))
}
